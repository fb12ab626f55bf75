// A fully connected layer as other front ends write it.
func.func @network(%x: tensor<1x16xf32>) -> tensor<1x8xf32> {
  %w = arith.constant dense<0.5> : tensor<16x8xf32>
  %b = arith.constant dense<1.0> : tensor<1x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<1x16xf32>, tensor<16x8xf32>) outs(%b : tensor<1x8xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}
