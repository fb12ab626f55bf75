// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-overlap-rows' | filecheck %s

// CHECK-LABEL: func.func @not_marked
// CHECK:       } 
// CHECK-NOT:   npu.
// CHECK:       func.return
func.func @not_marked(%x: memref<8x16xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %line = sram.alloc : memref<1x16xf32, #npu.sram>
  scf.for %t = %c0 to %c8 step %c1 {
    %arrived = memref.subview %x[%t, 0] [1, 16] [1, 1] : memref<8x16xf32, #npu.dram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    %0 = dma.start %arrived to %line channel 1 : memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram> to memref<1x16xf32, #npu.sram>
    dma.wait %0
  }
  func.return
}

// -----

// CHECK-LABEL: func.func @read_before_it_arrives
// CHECK:       } {npu.not_double_buffered = "%line is used before it is loaded"}
func.func @read_before_it_arrives(%x: memref<8x16xf32, #npu.dram>, %y: memref<1x16xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %line = sram.alloc : memref<1x16xf32, #npu.sram>
  scf.for %t = %c0 to %c8 step %c1 {
    npu.relu ins(%y : memref<1x16xf32, #npu.sram>) outs(%line : memref<1x16xf32, #npu.sram>)
    %arrived = memref.subview %x[%t, 0] [1, 16] [1, 1] : memref<8x16xf32, #npu.dram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    %0 = dma.start %arrived to %line channel 1 : memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram> to memref<1x16xf32, #npu.sram>
    dma.wait %0
    npu.relu ins(%line : memref<1x16xf32, #npu.sram>) outs(%y : memref<1x16xf32, #npu.sram>)
  } {npu.overlap_rows}
  func.return
}

// -----

// CHECK-LABEL: func.func @two_rows_in_one_buffer
// CHECK:       } {npu.not_double_buffered = "%line is moved twice"}
func.func @two_rows_in_one_buffer(%x: memref<8x16xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %line = sram.alloc : memref<1x16xf32, #npu.sram>
  scf.for %t = %c0 to %c8 step %c1 {
    %arrived = memref.subview %x[%t, 0] [1, 16] [1, 1] : memref<8x16xf32, #npu.dram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    %0 = dma.start %arrived to %line channel 1 : memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram> to memref<1x16xf32, #npu.sram>
    dma.wait %0
    %1 = dma.start %arrived to %line channel 1 : memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram> to memref<1x16xf32, #npu.sram>
    dma.wait %1
  } {npu.overlap_rows}
  func.return
}

// -----

// CHECK-LABEL: func.func @nothing_moves
// CHECK:       } {npu.not_double_buffered = "it has no transfers of its own"}
func.func @nothing_moves(%y: memref<1x16xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %t = %c0 to %c8 step %c1 {
    npu.relu ins(%y : memref<1x16xf32, #npu.sram>) outs(%y : memref<1x16xf32, #npu.sram>)
  } {npu.overlap_rows}
  func.return
}
