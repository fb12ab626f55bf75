// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-unroll-loops{steps=9} | filecheck %s

// No step of a loop inside overlaps with another one.
// CHECK-LABEL: func.func @plain
// CHECK: scf.for %o
func.func @plain(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %o = %c0 to %c4 step %c2 {
    %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
    %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    scf.for %i = %c0 to %c2 step %c1 {
      npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
    }
    %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
  }
  func.return
}

// -----

// Who knows how many steps there are.
// CHECK-LABEL: func.func @unknown
// CHECK: scf.for %o
func.func @unknown(%x : memref<8x4x8xf32, #npu.dram>, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %o = %c0 to %n step %c2 {
    %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
    %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    scf.for %i = %c0 to %c2 step %c1 {
      npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
    } {npu.double_buffered}
    %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
  }
  func.return
}

// -----

// There is nothing to unroll.
// CHECK-LABEL: func.func @once
// CHECK: scf.for %o
func.func @once(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %o = %c0 to %c2 step %c2 {
    %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
    %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    scf.for %i = %c0 to %c2 step %c1 {
      npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
    } {npu.double_buffered}
    %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
  }
  func.return
}
