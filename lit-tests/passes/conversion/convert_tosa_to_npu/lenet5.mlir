// RUN: npu-opt %s -p convert-tosa-to-npu | filecheck %s

// The text of mlir-opt 19, of the kind that torch-mlir makes: transpositions around layers. None of
// them is left, each activation is part of the layer before it, and a bias of zeros is dropped.

// CHECK-LABEL: func.func @lenet5
// CHECK-NOT: tosa
// CHECK-NOT: npu.transpose
// CHECK: %r1 = npu.conv2d %image, %w1, %b1 strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "c1"} : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<1x6x28x28xf32>
// CHECK-NEXT: %p1 = npu.max_pool2d %r1 kernel [2, 2] strides [2, 2]
// CHECK: %r2 = npu.conv2d %p1, %w2 strides [1, 1] pads [0, 0, 0, 0] then clamp [0.0, 6.0] {npu.layer = "c2"} : (tensor<1x6x14x14xf32>, tensor<16x6x5x5xf32>) -> tensor<1x16x10x10xf32>
// CHECK-NEXT: %p2 = npu.max_pool2d %r2
// CHECK-NEXT: %flat = npu.reshape %p2 {npu.layer = "flat"} : tensor<1x16x5x5xf32> -> tensor<1x400xf32>
// CHECK: %r3 = npu.fully_connected %flat, %w3, %b3 then relu {npu.layer = "fc1"}
// CHECK: %fc2 = npu.fully_connected %r3, %w4, %b4 {npu.layer = "fc2"}
// CHECK-NEXT: func.return %fc2
func.func @lenet5(%image: tensor<1x1x32x32xf32>) -> tensor<1x10xf32> {
  %last = "tosa.const"() <{value = dense<[0, 2, 3, 1]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %first = "tosa.const"() <{value = dense<[0, 3, 1, 2]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %w1 = "tosa.const"() <{value = dense<1.0> : tensor<6x5x5x1xf32>}> : () -> tensor<6x5x5x1xf32>
  %b1 = "tosa.const"() <{value = dense<2.0> : tensor<6xf32>}> : () -> tensor<6xf32>
  %w2 = "tosa.const"() <{value = dense<1.0> : tensor<16x5x5x6xf32>}> : () -> tensor<16x5x5x6xf32>
  %b2 = "tosa.const"() <{value = dense<0.0> : tensor<16xf32>}> : () -> tensor<16xf32>
  %w3 = "tosa.const"() <{value = dense<1.0> : tensor<120x400xf32>}> : () -> tensor<120x400xf32>
  %b3 = "tosa.const"() <{value = dense<2.0> : tensor<120xf32>}> : () -> tensor<120xf32>
  %w4 = "tosa.const"() <{value = dense<1.0> : tensor<10x120xf32>}> : () -> tensor<10x120xf32>
  %b4 = "tosa.const"() <{value = dense<2.0> : tensor<10xf32>}> : () -> tensor<10xf32>
  %x = tosa.transpose %image, %last : (tensor<1x1x32x32xf32>, tensor<4xi32>) -> tensor<1x32x32x1xf32>
  %c1 = tosa.conv2d %x, %w1, %b1 {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x32x32x1xf32>, tensor<6x5x5x1xf32>, tensor<6xf32>) -> tensor<1x28x28x6xf32>
  %c1_first = tosa.transpose %c1, %first : (tensor<1x28x28x6xf32>, tensor<4xi32>) -> tensor<1x6x28x28xf32>
  %r1 = tosa.clamp %c1_first {max_fp = 3.40282347E+38 : f32, max_int = 2147483647 : i64, min_fp = 0.000000e+00 : f32, min_int = 0 : i64} : (tensor<1x6x28x28xf32>) -> tensor<1x6x28x28xf32>
  %r1_last = tosa.transpose %r1, %last : (tensor<1x6x28x28xf32>, tensor<4xi32>) -> tensor<1x28x28x6xf32>
  %p1 = tosa.max_pool2d %r1_last {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x28x28x6xf32>) -> tensor<1x14x14x6xf32>
  %c2 = tosa.conv2d %p1, %w2, %b2 {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x14x14x6xf32>, tensor<16x5x5x6xf32>, tensor<16xf32>) -> tensor<1x10x10x16xf32>
  %r2 = tosa.clamp %c2 {max_fp = 6.000000e+00 : f32, max_int = 6 : i64, min_fp = 0.000000e+00 : f32, min_int = 0 : i64} : (tensor<1x10x10x16xf32>) -> tensor<1x10x10x16xf32>
  %p2 = tosa.max_pool2d %r2 {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x10x10x16xf32>) -> tensor<1x5x5x16xf32>
  %p2_first = tosa.transpose %p2, %first : (tensor<1x5x5x16xf32>, tensor<4xi32>) -> tensor<1x16x5x5xf32>
  %flat = tosa.reshape %p2_first {new_shape = array<i64: 1, 400>} : (tensor<1x16x5x5xf32>) -> tensor<1x400xf32>
  %fc1 = tosa.fully_connected %flat, %w3, %b3 : (tensor<1x400xf32>, tensor<120x400xf32>, tensor<120xf32>) -> tensor<1x120xf32>
  %r3 = tosa.clamp %fc1 {max_fp = 3.40282347E+38 : f32, max_int = 2147483647 : i64, min_fp = 0.000000e+00 : f32, min_int = 0 : i64} : (tensor<1x120xf32>) -> tensor<1x120xf32>
  %fc2 = tosa.fully_connected %r3, %w4, %b4 : (tensor<1x120xf32>, tensor<10x120xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  return %fc2 : tensor<1x10xf32>
}
