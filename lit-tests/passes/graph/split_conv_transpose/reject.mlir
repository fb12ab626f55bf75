// RUN: npu-opt %s --pass-pipeline=npu-split-conv-transpose --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-split-conv-transpose: expected constant weights of f32, f64 or i8 elements
func.func @computed(%x: tensor<1x1x1x4xf32>, %w: tensor<1x1x1x3xf32>) -> tensor<1x1x1x6xf32> {
  %y = npu.conv_transpose2d %x, %w : (tensor<1x1x1x4xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x6xf32>
  func.return %y : tensor<1x1x1x6xf32>
}
