// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=1000})' | filecheck %s

// Without a budget nothing moves; nor do parameters that are values, or that a caller hands over.

// CHECK-LABEL: func.func @tensors
// CHECK-NEXT: npu.fully_connected %x, %w :
func.func @tensors(%x: tensor<3x8xf32>, %w: tensor<2x8xf32>) -> tensor<3x2xf32> {
  %y = npu.fully_connected %x, %w : (tensor<3x8xf32>, tensor<2x8xf32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// CHECK-LABEL: func.func private @outlined
// CHECK-NEXT: npu.fully_connected ins(%x, %w :
func.func private @outlined(%x: memref<3x8xf32, #npu.sram>, %w: memref<2x8xf32, #npu.flash>, %y: memref<3x2xf32, #npu.sram>) {
  npu.fully_connected ins(%x, %w : memref<3x8xf32, #npu.sram>, memref<2x8xf32, #npu.flash>) outs(%y : memref<3x2xf32, #npu.sram>)
  func.return
}
