// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-keep-parts | filecheck %s

// It rejects nothing: a part that cannot be kept stays where it is.

// A row is computed, changed in place and stored once.
// CHECK-LABEL: func.func @row
// CHECK: scf.for
// CHECK: [[ROW:%.*]] = memref.subview %map
// CHECK: %map_1 = sram.alloc : memref<1x64xi8, #npu.sram>
// CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%map_1
// CHECK-NEXT: npu.add ins(%map_1, %x : {{.*}}) outs(%map_1
// CHECK-NEXT: "memref.copy"(%map_1, [[ROW]]) {npu.layer = "sum"}
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @row(%map : memref<8x64xi8, #npu.dram>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %x = sram.alloc : memref<1x64xi8, #npu.sram>
    scf.for %i = %c0 to %c8 step %c1 {
      %row = memref.subview %map[%i, 0] [1, 64] [1, 1] : memref<8x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: ?>, #npu.dram>
      npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%row : memref<1x64xi8, strided<[64, 1], offset: ?>, #npu.dram>) {npu.layer = "first"}
      npu.add ins(%row, %x : memref<1x64xi8, strided<[64, 1], offset: ?>, #npu.dram>, memref<1x64xi8, #npu.sram>) outs(%row : memref<1x64xi8, strided<[64, 1], offset: ?>, #npu.dram>) {npu.layer = "sum"}
    }
    func.return
  }

  // A part that is only read is brought on chip, and not stored.
  // CHECK-LABEL: func.func @read
  // CHECK: [[ROW:%.*]] = memref.subview %map
  // CHECK: "memref.copy"([[ROW]], %map_1) {npu.layer = "one"}
  // CHECK-NEXT: npu.relu ins(%map_1
  // CHECK-NEXT: npu.relu ins(%map_1
  // CHECK-NOT: memref.copy
  func.func @read(%map : memref<8x64xi8, #npu.dram>) {
    %x = sram.alloc : memref<1x64xi8, #npu.sram>
    %y = sram.alloc : memref<1x64xi8, #npu.sram>
    %row = memref.subview %map[2, 0] [1, 64] [1, 1] : memref<8x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>
    npu.relu ins(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>) outs(%x : memref<1x64xi8, #npu.sram>) {npu.layer = "one"}
    npu.relu ins(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>) {npu.layer = "other"}
    func.return
  }

  // Nobody knows what a call between the layers does to the map.
  // CHECK-LABEL: func.func @call
  // CHECK-NOT: memref.copy
  func.func private @g() -> ()
  func.func @call(%map : memref<8x64xi8, #npu.dram>) {
    %x = sram.alloc : memref<1x64xi8, #npu.sram>
    %row = memref.subview %map[2, 0] [1, 64] [1, 1] : memref<8x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>)
    func.call @g() : () -> ()
    npu.relu ins(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>) outs(%x : memref<1x64xi8, #npu.sram>)
    func.return
  }

  // Another layer reads the whole map meanwhile; and one layer alone gains nothing.
  // CHECK-LABEL: func.func @left_alone
  // CHECK-NOT: memref.copy
  func.func @left_alone(%map : memref<8x64xi8, #npu.dram>, %all : memref<8x64xi8, #npu.dram>) {
    %x = sram.alloc : memref<1x64xi8, #npu.sram>
    %row = memref.subview %map[2, 0] [1, 64] [1, 1] : memref<8x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>
    %alone = memref.subview %map[3, 0] [1, 64] [1, 1] : memref<8x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 192>, #npu.dram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>)
    npu.relu ins(%map : memref<8x64xi8, #npu.dram>) outs(%all : memref<8x64xi8, #npu.dram>)
    npu.relu ins(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>) outs(%x : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%alone : memref<1x64xi8, strided<[64, 1], offset: 192>, #npu.dram>) outs(%x : memref<1x64xi8, #npu.sram>)
    func.return
  }
}

// -----

// There is room for the smallest tiles, but not for the part beside what lives.
// CHECK-LABEL: func.func @no_room
// CHECK-NOT: memref.copy
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 120 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @no_room(%map : memref<8x64xi8, #npu.dram>) {
    %x = sram.alloc : memref<1x64xi8, #npu.sram>
    %row = memref.subview %map[2, 0] [1, 64] [1, 1] : memref<8x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>)
    npu.add ins(%row, %x : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>, memref<1x64xi8, #npu.sram>) outs(%row : memref<1x64xi8, strided<[64, 1], offset: 128>, #npu.dram>)
    func.return
  }
}
