// RUN: NPU_DIAGNOSTICS

func.func @f(%a: memref<1x2x8x8xf32, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<1x2x8x8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 blocks 0 zero 0 of %a, %i : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x8x8xf32, #npu.sram> of memref<1x2x8x8xf32, #npu.dram>, memref<1xi8, #npu.dram>
  func.return
}
// CHECK: expected a block of at least 1 element, got 0

// -----

func.func @f(%a: memref<1x2x8x8xf32, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<1x2x8x8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 blocks 2 zero 0 of %a, %i : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x8x8xf32, #npu.sram> of memref<1x2x8x8xf32, #npu.dram>, memref<1xi8, #npu.dram>
  func.return
}
// CHECK: expected an index of 4 bytes (i8), got memref<1xi8, #npu.dram>

// -----

func.func @f(%a: memref<1x2x8x8xf32, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<1x2x8x8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 blocks 4 zero 0 of %a : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x8x8xf32, #npu.sram> of memref<1x2x8x8xf32, #npu.dram>
  func.return
}
// CHECK: expected a map and its index, got 1 operands

// -----

func.func @f(%a: memref<1x2x8x8xf32, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<1x2x8x8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 blocks 4 zero 7 of %a, %i : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x8x8xf32, #npu.sram> of memref<1x2x8x8xf32, #npu.dram>, memref<1xi8, #npu.dram>
  func.return
}
// CHECK: expected zero 0 for elements of type f32

// -----

func.func @f(%a: memref<64xf32, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<64xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 blocks 4 zero 0 of %a, %i : memref<64xf32, #npu.dram> to memref<64xf32, #npu.sram> of memref<64xf32, #npu.dram>, memref<1xi8, #npu.dram>
  func.return
}
// CHECK: expected a part of a map of rank 4, got memref<64xf32, #npu.sram> of memref<64xf32, #npu.dram>

// -----

func.func @f(%a: memref<1x2x8x8xf32, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<1x2x8x8xf32, #npu.sram>) {
  %t = "dma.start"(%a, %b, %a, %i) <{channel = 0 : i64}> : (memref<1x2x8x8xf32, #npu.dram>, memref<1x2x8x8xf32, #npu.sram>, memref<1x2x8x8xf32, #npu.dram>, memref<1xi8, #npu.dram>) -> !dma.token
  func.return
}
// CHECK: expected blocks, zero, a map and its index, or none of them
