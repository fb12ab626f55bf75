// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' | filecheck %s

// Functions without on-chip buffers of their own stay, declarations and layers on buffers of the caller too.

// CHECK-LABEL: func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func private @layer(%x: memref<4xf32, #npu.sram>) {
func.func private @layer(%x: memref<4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>)
  func.return
}

// CHECK-LABEL: func.func @off_chip() {
// CHECK-NEXT: memref.alloc() : memref<4xf32>
func.func @off_chip() {
  %a = memref.alloc() : memref<4xf32>
  func.return
}

// CHECK: func.func private @external(memref<4xf32, #npu.sram>)
func.func private @external(memref<4xf32, #npu.sram>)
