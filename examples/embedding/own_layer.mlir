// A layer of the toy dialect between two others: it runs in place, in the 32 bytes of %hidden.
func.func @network(%samples: tensor<1x16xf32>) -> tensor<1x4xf32> {
  %w1 = arith.constant dense<0.5> : tensor<8x16xf32>
  %b1 = arith.constant dense<-1.0> : tensor<8xf32>
  %w2 = arith.constant dense<0.25> : tensor<4x8xf32>
  %b2 = arith.constant dense<0.0> : tensor<4xf32>
  %hidden = toy.dense_relu %samples, %w1, %b1 : (tensor<1x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  %energy = toy.square %hidden {npu.layer = "square"} : tensor<1x8xf32> -> tensor<1x8xf32>
  %scores = toy.dense_relu %energy, %w2, %b2 : (tensor<1x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  func.return %scores : tensor<1x4xf32>
}
