// RUN: npu-opt %s --pass-pipeline=npu-tile-loops | filecheck %s

// Layers on tensors, and layers whose operands are on chip or in flash, stay as they are, whatever the machine.

// CHECK-LABEL: func.func @tensors
// CHECK-NEXT: npu.relu %x
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @on_chip
// CHECK-NEXT: npu.fully_connected ins(%x, %w :
// CHECK-NEXT: func.return
func.func @on_chip(%x: memref<3x8xf32, #npu.sram>, %w: memref<2x8xf32, #npu.flash>, %y: memref<3x2xf32, #npu.sram>) {
  npu.fully_connected ins(%x, %w : memref<3x8xf32, #npu.sram>, memref<2x8xf32, #npu.flash>) outs(%y : memref<3x2xf32, #npu.sram>)
  func.return
}
