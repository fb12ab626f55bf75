// RUN: npu-opt %s -p convert-tosa-to-npu | filecheck %s

// An op without equivalent stays and says why. The layers around it are converted.
// CHECK-LABEL: func.func @between
// CHECK: npu.max_pool2d
// CHECK: [[M:%[a-z_0-9]+]] = npu.transpose {{.*}} perm [0, 2, 3, 1]
// CHECK: [[R:%[a-z_0-9]+]] = tosa.reverse [[M]] {axis = 1 : i32, npu.left = "it has no equivalent among the layers"}
// CHECK: npu.transpose [[R]] perm [0, 3, 1, 2]
// CHECK-NEXT: npu.max_pool2d
func.func @between(%x: tensor<1x4x4x2xf32>) -> tensor<1x1x1x2xf32> {
  %p = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  %r = tosa.reverse %p {axis = 1 : i32} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %q = tosa.max_pool2d %r {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x2x2x2xf32>) -> tensor<1x1x1x2xf32>
  return %q : tensor<1x1x1x2xf32>
}

// CHECK-LABEL: func.func @reasons
// CHECK: tosa.max_pool2d {{.*}}npu.left = "expected static shapes with elements, got tensor<1x?x?x2xf32>"
// CHECK: tosa.rescale {{.*}}npu.left = "no layer rescales i32 to i64"
// CHECK: tosa.rescale {{.*}}npu.left = "expected a multiplier from 2^30 on to round twice, got 3"
// CHECK: tosa.rescale {{.*}}npu.left = "no layer scales by 1073741824 * 2^-63"
// CHECK: tosa.mul {{.*}}npu.left = "expected a product without shift, got 2"
// CHECK: tosa.transpose {{.*}}npu.left = "expected operand 1 to be a constant of integers"
// CHECK: tosa.clamp {{.*}}npu.left = "its operands give tensor<1x2xi32>, it is declared with tensor<2xi32>"
func.func @reasons(%x: tensor<1x?x?x2xf32>, %s: tensor<1x2xi32>, %p: tensor<2xi32>) -> (tensor<1x?x?x2xf32>, tensor<1x2xi64>, tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi32>, tensor<2x1xi32>, tensor<2xi32>) {
  %a = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x?x?x2xf32>) -> tensor<1x?x?x2xf32>
  %b = tosa.rescale %s {double_round = false, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 31>} : (tensor<1x2xi32>) -> tensor<1x2xi64>
  %c = tosa.rescale %s {double_round = true, input_zp = 0 : i32, multiplier = array<i32: 3>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 31>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  %d = tosa.rescale %s {double_round = false, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 63>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  %e = tosa.mul %s, %s {shift = 2 : i8} : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
  %f = tosa.transpose %s, %p : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<2x1xi32>
  %g = tosa.clamp %s {max_fp = 1.0 : f32, max_int = 9 : i64, min_fp = 0.0 : f32, min_int = 0 : i64} : (tensor<1x2xi32>) -> tensor<2xi32>
  return %a, %b, %c, %d, %e, %f, %g : tensor<1x?x?x2xf32>, tensor<1x2xi64>, tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi32>, tensor<2x1xi32>, tensor<2xi32>
}

// Pads that hold another number than a layer's own are made before it.
// CHECK-LABEL: func.func @pads
// CHECK: [[P:%[a-z_0-9]+]] = npu.pick {{.*}} axis 2 [none, 0 to 1] axis 3 [none, 0 to 1] fill 1.0
// CHECK: npu.conv2d [[P]], {{.*}} pads [0, 0, 0, 0]
func.func @pads(%x: tensor<1x2x2x1xf32>) -> tensor<1x3x3x1xf32> {
  %w = "tosa.const"() <{value = dense<1.0> : tensor<1x1x1x1xf32>}> : () -> tensor<1x1x1x1xf32>
  %b = "tosa.const"() <{value = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %around = "tosa.const"() <{value = dense<[[0, 0], [1, 0], [1, 0], [0, 0]]> : tensor<4x2xi32>}> : () -> tensor<4x2xi32>
  %one = "tosa.const"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %p = tosa.pad %x, %around, %one : (tensor<1x2x2x1xf32>, tensor<4x2xi32>, tensor<f32>) -> tensor<1x3x3x1xf32>
  %y = tosa.conv2d %p, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x3x3x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x3x3x1xf32>
  return %y : tensor<1x3x3x1xf32>
}
