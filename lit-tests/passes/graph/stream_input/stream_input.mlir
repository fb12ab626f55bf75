// RUN: npu-opt %s -p npu-stream-input | filecheck %s

// The private function stays as it is.
// CHECK-LABEL: func.func private @other(%x: tensor<1x2x8x8xf32>, %y: tensor<4xf32>)
// CHECK-LABEL: func.func @net(%x: tensor<1x2x8x8xf32> {npu.name = "image", npu.stream})
func.func private @other(%x : tensor<1x2x8x8xf32>, %y : tensor<4xf32>) -> tensor<4xf32> {
  func.return %y : tensor<4xf32>
}
func.func @net(%x : tensor<1x2x8x8xf32> {npu.name = "image"}) -> tensor<1x1x6x6xf32> {
  %w = arith.constant dense<1.0> : tensor<1x2x3x3xf32>
  %0 = npu.conv2d %x, %w : (tensor<1x2x8x8xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x6x6xf32>
  func.return %0 : tensor<1x1x6x6xf32>
}
