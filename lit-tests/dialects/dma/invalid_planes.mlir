// RUN: NPU_DIAGNOSTICS

func.func @f(%a: memref<1x2x8x8xi8, #npu.dram>, %i: memref<8xi8, #npu.dram>, %b: memref<1x2x8x8xi8, #npu.sram>) {
  %t = dma.start %a to %b channel 0 planes blocks 8 zero 0 of %a, %i : memref<1x2x8x8xi8, #npu.dram> to memref<1x2x8x8xi8, #npu.sram> of memref<1x2x8x8xi8, #npu.dram>, memref<8xi8, #npu.dram>
  func.return
}
// CHECK: expected planes of 16 elements, got 8

// -----

func.func @f(%a: memref<1x2x8x8xf32, #npu.dram>, %i: memref<8xi8, #npu.dram>, %b: memref<1x2x8x8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 planes blocks 16 zero 0 of %a, %i : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x8x8xf32, #npu.sram> of memref<1x2x8x8xf32, #npu.dram>, memref<8xi8, #npu.dram>
  func.return
}
// CHECK: expected planes of bytes, got elements of f32

// -----

func.func @f(%a: memref<1x2x8x8xi8, #npu.dram>, %i: memref<8xi8, #npu.dram>, %b: memref<1x2x8x8xi8, #npu.sram>) {
  %t = dma.start %a to %b channel 0 planes blocks 16 zero -5 of %a, %i : memref<1x2x8x8xi8, #npu.dram> to memref<1x2x8x8xi8, #npu.sram> of memref<1x2x8x8xi8, #npu.dram>, memref<8xi8, #npu.dram>
  func.return
}
// CHECK: expected zero 0 or -128 for planes, got -5

// -----

func.func @f(%a: memref<1x2x8x8xui8, #npu.dram>, %i: memref<8xi8, #npu.dram>, %b: memref<1x2x8x8xui8, #npu.sram>) {
  %t = dma.start %a to %b channel 0 planes blocks 16 zero -128 of %a, %i : memref<1x2x8x8xui8, #npu.dram> to memref<1x2x8x8xui8, #npu.sram> of memref<1x2x8x8xui8, #npu.dram>, memref<8xi8, #npu.dram>
  func.return
}
// CHECK: expected zero 0 or 128 for planes, got -128

// -----

func.func @f(%a: memref<1x2x8x8xi8, #npu.dram>, %i: memref<1xi8, #npu.dram>, %b: memref<1x2x8x8xi8, #npu.sram>) {
  %t = dma.start %a to %b channel 0 planes blocks 16 zero 0 of %a, %i : memref<1x2x8x8xi8, #npu.dram> to memref<1x2x8x8xi8, #npu.sram> of memref<1x2x8x8xi8, #npu.dram>, memref<1xi8, #npu.dram>
  func.return
}
// CHECK: expected an index of 8 bytes (i8), got memref<1xi8, #npu.dram>

// -----

func.func @f(%a: memref<1x2x8x8xi8, #npu.dram>, %b: memref<1x2x8x8xi8, #npu.sram>) {
  %t = dma.start %a to %b channel 0 planes : memref<1x2x8x8xi8, #npu.dram> to memref<1x2x8x8xi8, #npu.sram>
  func.return
}
// CHECK: expected blocks, zero, a map and its index, or none of them
