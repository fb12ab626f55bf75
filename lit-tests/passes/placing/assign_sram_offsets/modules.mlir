// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=modules})' --split-input-file | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' --split-input-file | filecheck %s --check-prefix=GREEDY

// The MIFM lies at 0 and the MOFM at the other end, both as planned: %a begins 64 bytes into %y. What lives beside them lies
// between. A layer that writes its map channel by channel writes a view of it.
// CHECK-LABEL: func.func @places
// CHECK-SAME: sram.arena = 1024
// CHECK: %m = sram.alloc at 0 :
// CHECK-NOT: npu.not_placed
// CHECK: %y = sram.alloc at 832 :
// CHECK-NOT: npu.not_placed
// CHECK: %t = sram.alloc at 64 :
// CHECK-NOT: npu.not_placed
// CHECK: func.return
// GREEDY-LABEL: func.func @places
// GREEDY-SAME: sram.arena = 320
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64}>} {
func.func @places(%x: memref<1x1x8x8xi8, #npu.flash>, %w: memref<2x1x1x1xi8, #npu.flash>) {
  %m = sram.alloc : memref<1x1x8x8xi8, #npu.sram>
  npu.relu ins(%x : memref<1x1x8x8xi8, #npu.flash>) outs(%m : memref<1x1x8x8xi8, #npu.sram>) {npu.place = array<i64: 64, 0>}
  %y = sram.alloc : memref<1x3x8x8xi8, #npu.sram>
  %t = sram.alloc : memref<1x1x8x8xi8, #npu.sram>
  npu.relu ins(%m : memref<1x1x8x8xi8, #npu.sram>) outs(%t : memref<1x1x8x8xi8, #npu.sram>)
  %a = memref.subview %y[0, 1, 0, 0] [1, 2, 8, 8] [1, 1, 1, 1] : memref<1x3x8x8xi8, #npu.sram> to memref<1x2x8x8xi8, strided<[192, 64, 8, 1], offset: 64>, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %c = %c0 to %c2 step %c1 {
    %one = memref.subview %a[0, %c, 0, 0] [1, 1, 8, 8] [1, 1, 1, 1] : memref<1x2x8x8xi8, strided<[192, 64, 8, 1], offset: 64>, #npu.sram> to memref<1x1x8x8xi8, strided<[192, 64, 8, 1], offset: ?>, #npu.sram>
    npu.relu ins(%t : memref<1x1x8x8xi8, #npu.sram>) outs(%one : memref<1x1x8x8xi8, strided<[192, 64, 8, 1], offset: ?>, #npu.sram>) {npu.place = array<i64: 128, 896>}
  }
  %b = memref.subview %y[0, 0, 0, 0] [1, 1, 8, 8] [1, 1, 1, 1] : memref<1x3x8x8xi8, #npu.sram> to memref<1x1x8x8xi8, strided<[192, 64, 8, 1]>, #npu.sram>
  npu.relu ins(%m : memref<1x1x8x8xi8, #npu.sram>) outs(%b : memref<1x1x8x8xi8, strided<[192, 64, 8, 1]>, #npu.sram>) {npu.place = array<i64: 64, 832>}
  "test.op"(%y, %t) : (memref<1x3x8x8xi8, #npu.sram>, memref<1x1x8x8xi8, #npu.sram>) -> ()
  func.return
}
}

// -----

// Places that cannot be: a map of other bytes, or off chip; a place behind the memory; one where a pinned buffer lies; two places
// for one buffer; one before the buffer would begin. Each says why, and the buffers lie somewhere.
// CHECK-LABEL: func.func @refused
// CHECK: %a = sram.alloc at 0 :
// CHECK: outs(%a {{.*}} {npu.place = array<i64: 128, 0>, npu.not_placed = "it writes no map of 128 bytes on chip"}
// CHECK: outs(%b {{.*}} {npu.place = array<i64: 64, 1000>, npu.not_placed = "it would end at 1064, behind the 1024 bytes of memory"}
// CHECK: outs(%c {{.*}} {npu.place = array<i64: 64, 32>, npu.not_placed = "'a' [0, 64) and 'c' [32, 96) share memory while both live"}
// CHECK: outs(%d {{.*}} {npu.place = array<i64: 64, 512>}
// CHECK: outs(%d {{.*}} {npu.place = array<i64: 64, 576>, npu.not_placed = "the place of another map puts its buffer at 512"}
// CHECK: outs(%slice {{.*}} {npu.place = array<i64: 64, 0>, npu.not_placed = "it lies 64 bytes into its buffer, which would begin below 0"}
// CHECK: outs(%off {{.*}} {npu.place = array<i64: 64, 0>, npu.not_placed = "it writes no map of 64 bytes on chip"}
// GREEDY-LABEL: func.func @refused
// GREEDY-NOT: npu.not_placed
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64}>} {
func.func @refused(%x: memref<64xi8, #npu.flash>, %off: memref<64xi8, #npu.dram>) {
  %a = sram.alloc at 0 : memref<64xi8, #npu.sram>
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%a : memref<64xi8, #npu.sram>) {npu.place = array<i64: 128, 0>}
  %b = sram.alloc : memref<64xi8, #npu.sram>
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%b : memref<64xi8, #npu.sram>) {npu.place = array<i64: 64, 1000>}
  %c = sram.alloc : memref<64xi8, #npu.sram>
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%c : memref<64xi8, #npu.sram>) {npu.place = array<i64: 64, 32>}
  %d = sram.alloc : memref<64xi8, #npu.sram>
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%d : memref<64xi8, #npu.sram>) {npu.place = array<i64: 64, 512>}
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%d : memref<64xi8, #npu.sram>) {npu.place = array<i64: 64, 576>}
  %e = sram.alloc : memref<128xi8, #npu.sram>
  %slice = memref.subview %e[64] [64] [1] : memref<128xi8, #npu.sram> to memref<64xi8, strided<[1], offset: 64>, #npu.sram>
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%slice : memref<64xi8, strided<[1], offset: 64>, #npu.sram>) {npu.place = array<i64: 64, 0>}
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%off : memref<64xi8, #npu.dram>) {npu.place = array<i64: 64, 0>}
  "test.op"(%a, %b, %c, %d, %e) : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>, memref<128xi8, #npu.sram>) -> ()
  func.return
}
}

// -----

// With %a in the middle there would be no room for %b, which fits without it.
// CHECK-LABEL: func.func @in_the_way
// CHECK-SAME: sram.arena = 1024
// CHECK: npu.not_placed = "with it there, other buffers would not fit into the memory"
// GREEDY-LABEL: func.func @in_the_way
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64}>} {
func.func @in_the_way(%x: memref<64xi8, #npu.flash>) {
  %a = sram.alloc : memref<64xi8, #npu.sram>
  npu.relu ins(%x : memref<64xi8, #npu.flash>) outs(%a : memref<64xi8, #npu.sram>) {npu.place = array<i64: 64, 512>}
  %b = sram.alloc : memref<960xi8, #npu.sram>
  "test.op"(%a, %b) : (memref<64xi8, #npu.sram>, memref<960xi8, #npu.sram>) -> ()
  func.return
}
}
