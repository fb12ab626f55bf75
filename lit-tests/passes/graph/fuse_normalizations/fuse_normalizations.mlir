// RUN: npu-opt %s --pass-pipeline=npu-fuse-normalizations | filecheck %s

// CHECK-LABEL: func.func @layer
// CHECK-NEXT:  %scale = arith.constant dense<3.000000e+00> : tensor<1xf32>
// CHECK-NEXT:  %y = npu.normalize %x, %scale axes [1] epsilon 0.5 {npu.layer = "mean", npu.value = "y"} : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:  func.return %y
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %three = arith.constant dense<3.0> : tensor<f32>
  %epsilon = arith.constant dense<0.5> : tensor<f32>
  %m = npu.reduce %x with mean axes [1] {npu.layer = "mean", npu.value = "m"} : tensor<4x8xf32> -> tensor<4x1xf32>
  %d = npu.binary %x, %m with sub : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %q = npu.mul %d, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = npu.reduce %q with mean axes [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %e = npu.add %v, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %s = npu.map %e with sqrt : tensor<4x1xf32> -> tensor<4x1xf32>
  %n = npu.binary %d, %s with div : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %y = npu.mul %n, %three {npu.layer = "scale", npu.value = "y"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// The mean of the squares is along another axis.
// CHECK-LABEL: func.func @other_axis
// CHECK-NOT:   npu.normalize
// CHECK:       npu.binary %d, %s with div
func.func @other_axis(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %m = npu.reduce %x with mean axes [1] : tensor<8x8xf32> -> tensor<8x1xf32>
  %d = npu.binary %x, %m with sub : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %q = npu.mul %d, %d : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %v = npu.reduce %q with mean axes [0] : tensor<8x8xf32> -> tensor<1x8xf32>
  %s = npu.map %v with sqrt : tensor<1x8xf32> -> tensor<1x8xf32>
  %n = npu.binary %d, %s with div : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  func.return %n : tensor<8x8xf32>
}
