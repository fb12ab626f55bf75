
// Two layers with the same parameters still share them.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: arith.constant
// CHECK-NOT:   arith.constant
// CHECK:       npu.conv2d %x, %[[W:[a-z0-9_]+]], %[[B:[a-z0-9_]+]]
// CHECK-NEXT:  npu.conv2d %y, %[[W]], %[[B]]
func.func @shared(%x: tensor<1x1x2x2xf32>, %y: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %w = arith.constant dense<3.0> : tensor<1x1x1x1xf32>
  %s = arith.constant dense<2.0> : tensor<1xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %n = npu.batch_norm %c, %s, %s, %s, %s epsilon 0.0 : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %d = npu.conv2d %y, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %m = npu.batch_norm %d, %s, %s, %s, %s epsilon 0.0 : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  func.return %n, %m : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}
