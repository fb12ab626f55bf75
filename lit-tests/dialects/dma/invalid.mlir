// RUN: NPU_DIAGNOSTICS

func.func @f(%a: memref<8xf32, #npu.dram>, %b: memref<4xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 : memref<8xf32, #npu.dram> to memref<4xf32, #npu.sram>
  func.return
}
// CHECK: expected one static shape at both ends, got memref<8xf32, #npu.dram>, memref<4xf32, #npu.sram>

// -----

func.func @f(%a: memref<8xf32, #npu.dram>, %b: memref<8xi8, #npu.sram>) {
  %t = dma.start %a to %b channel 0 : memref<8xf32, #npu.dram> to memref<8xi8, #npu.sram>
  func.return
}
// CHECK: expected one element type at both ends, got f32 and i8

// -----

func.func @f(%a: memref<8xf32, #npu.sram>, %b: memref<8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 : memref<8xf32, #npu.sram> to memref<8xf32, #npu.sram>
  func.return
}
// CHECK: expected a transfer between two memory spaces, got #npu.sram twice

// -----

func.func @f(%a: memref<8xf32, #npu.dram>, %b: memref<8xf32, #npu.sram>) {
  %t = dma.start %a to %b channel -1 : memref<8xf32, #npu.dram> to memref<8xf32, #npu.sram>
  func.return
}
// CHECK: expected a channel of at least 0, got -1

// -----

func.func @f(%a: memref<?xf32, #npu.dram>, %b: memref<?xf32, #npu.sram>) {
  %t = dma.start %a to %b channel 0 : memref<?xf32, #npu.dram> to memref<?xf32, #npu.sram>
  func.return
}
// CHECK: expected one static shape at both ends, got memref<?xf32, #npu.dram>, memref<?xf32, #npu.sram>

// -----

func.func @f() {
  dma.work -1
  func.return
}
// CHECK: expected cycles of at least 0, got -1
