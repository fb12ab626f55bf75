// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-spill-maps{sram-bytes=280})' | filecheck %s

// Without a machine, or on one without DMA, nothing changes.

// CHECK-LABEL: func.func @no_machine
// CHECK-NEXT: sram.alloc
// CHECK-NOT: dram.alloc
func.func @no_machine() {
  %a = sram.alloc : memref<1000xf32, #npu.sram>
  npu.relu ins(%a : memref<1000xf32, #npu.sram>) outs(%a : memref<1000xf32, #npu.sram>)
  func.return
}

// -----

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 64 : i64, flash_bytes = 0 : i64}>} {
// CHECK-LABEL: func.func @no_dma
// CHECK-NEXT: sram.alloc
// CHECK-NOT: dram.alloc
func.func @no_dma() {
  %a = sram.alloc : memref<1000xf32, #npu.sram>
  npu.relu ins(%a : memref<1000xf32, #npu.sram>) outs(%a : memref<1000xf32, #npu.sram>)
  func.return
}
}

// -----

// What something else than a layer or a copy uses stays, and so does what has an offset already: others
// make room. A function without buffers is none of our business.

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
// CHECK-LABEL: func.func @fixed
// CHECK-SAME: npu.spilled_bytes = 384
// CHECK: %a = sram.alloc : memref<32xf32, #npu.sram>
// CHECK: %b = sram.alloc at 0 : memref<32xf32, #npu.sram>
// CHECK: %c = dram.alloc : memref<32xf32, #npu.dram>
func.func @fixed(%x: memref<32xf32, #npu.dram> {dram.input}) {
  %a = sram.alloc : memref<32xf32, #npu.sram>
  %b = sram.alloc at 0 : memref<32xf32, #npu.sram>
  %c = sram.alloc : memref<32xf32, #npu.sram>
  "test.op"(%a) : (memref<32xf32, #npu.sram>) -> ()
  npu.relu ins(%a : memref<32xf32, #npu.sram>) outs(%b : memref<32xf32, #npu.sram>)
  npu.relu ins(%b : memref<32xf32, #npu.sram>) outs(%c : memref<32xf32, #npu.sram>)
  npu.add ins(%a, %b : memref<32xf32, #npu.sram>, memref<32xf32, #npu.sram>) outs(%b : memref<32xf32, #npu.sram>)
  npu.add ins(%c, %c : memref<32xf32, #npu.sram>, memref<32xf32, #npu.sram>) outs(%c : memref<32xf32, #npu.sram>)
  "test.op"(%b) : (memref<32xf32, #npu.sram>) -> ()
  func.return
}
// CHECK-LABEL: func.func @nothing(%x: memref<1000xf32, #npu.dram>) {
func.func @nothing(%x: memref<1000xf32, #npu.dram>) {
  func.return
}

// The window of a row loop stays; the map that the loop fills, row by row, may leave: 8 rows of 32
// bytes, and once more when it is read.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: npu.spilled_bytes = 512
// CHECK: %window = sram.alloc
// CHECK: %y = dram.alloc
// CHECK: scf.for
// CHECK: %row = memref.subview %y{{.*}} to memref<1x1x1x8xf32, strided<[64, 64, 8, 1], offset: ?>, #npu.dram>
func.func @rows(%x: memref<1x1x8x8xf32, #npu.dram> {dram.input}, %z: memref<1x1x8x8xf32, #npu.dram> {dram.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %window = sram.alloc : memref<1x1x1x8xf32, #npu.sram>
  %y = sram.alloc : memref<1x1x8x8xf32, #npu.sram>
  scf.for %r = %c0 to %c8 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 8] [1, 1, 1, 1] : memref<1x1x8x8xf32, #npu.dram> to memref<1x1x1x8xf32, strided<[64, 8, 8, 1], offset: ?>, #npu.dram>
    npu.relu ins(%line : memref<1x1x1x8xf32, strided<[64, 8, 8, 1], offset: ?>, #npu.dram>) outs(%window : memref<1x1x1x8xf32, #npu.sram>) {npu.runs = 8 : i64}
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 8] [1, 1, 1, 1] : memref<1x1x8x8xf32, #npu.sram> to memref<1x1x1x8xf32, strided<[64, 8, 8, 1], offset: ?>, #npu.sram>
    npu.relu ins(%window : memref<1x1x1x8xf32, #npu.sram>) outs(%row : memref<1x1x1x8xf32, strided<[64, 8, 8, 1], offset: ?>, #npu.sram>) {npu.runs = 8 : i64}
  }
  npu.transpose ins(%y : memref<1x1x8x8xf32, #npu.sram>) outs(%z : memref<1x1x8x8xf32, #npu.dram>) perm [0, 1, 3, 2]
  func.return
}
}
