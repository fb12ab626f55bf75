// RUN: npu-opt %s -p convert-tosa-to-npu | filecheck %s

// Depthwise weights [KH, KW, C, M] become [C * M, 1, KH, KW]; pads in front become those of the layer.
// CHECK-LABEL: func.func @depthwise
// CHECK: %w = arith.constant dense<[{{\[\[\[}}1.000000e+00, 3.000000e+00]]], {{\[\[\[}}2.000000e+00, 4.000000e+00]]]]> : tensor<2x1x1x2xf32>
// CHECK: %y = npu.conv2d %{{[a-z_]+}}, %w strides [1, 2] pads [1, 1, 2, 0] groups 2 {npu.layer = "y"}
func.func @depthwise(%x: tensor<1x4x4x2xf32>) -> tensor<1x7x2x2xf32> {
  %w = "tosa.const"() <{value = dense<[[[[1.0], [2.0]], [[3.0], [4.0]]]]> : tensor<1x2x2x1xf32>}> : () -> tensor<1x2x2x1xf32>
  %b = "tosa.const"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<2xf32>
  %around = "tosa.const"() <{value = dense<[[0, 0], [1, 1], [1, 0], [0, 0]]> : tensor<4x2xi32>}> : () -> tensor<4x2xi32>
  %p = tosa.pad %x, %around : (tensor<1x4x4x2xf32>, tensor<4x2xi32>) -> tensor<1x6x5x2xf32>
  %y = tosa.depthwise_conv2d %p, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 1, 0, 0>, stride = array<i64: 1, 2>} : (tensor<1x6x5x2xf32>, tensor<1x2x2x1xf32>, tensor<2xf32>) -> tensor<1x7x2x2xf32>
  return %y : tensor<1x7x2x2xf32>
}

// A constant matrix is a weight; what is added is its bias. Two computed matrices are a product.
// CHECK-LABEL: func.func @products
// CHECK: npu.fully_connected {{.*}} then relu {npu.layer = "m"} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: npu.matmul %a, %c {npu.layer = "n"} : (tensor<1x2x3xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
func.func @products(%a: tensor<1x2x3xf32>, %c: tensor<1x3x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %w = "tosa.const"() <{value = dense<1.0> : tensor<1x3x4xf32>}> : () -> tensor<1x3x4xf32>
  %b = "tosa.const"() <{value = dense<2.0> : tensor<1x1x4xf32>}> : () -> tensor<1x1x4xf32>
  %m = tosa.matmul %a, %w : (tensor<1x2x3xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  %s = tosa.add %m, %b : (tensor<1x2x4xf32>, tensor<1x1x4xf32>) -> tensor<1x2x4xf32>
  %r = tosa.clamp %s {max_fp = 3.40282347E+38 : f32, max_int = 9 : i64, min_fp = 0.0 : f32, min_int = 0 : i64} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %n = tosa.matmul %a, %c : (tensor<1x2x3xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  return %r, %n : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// Maps keep their channels second from layer to layer, across sums and concatenations, too.
// CHECK-LABEL: func.func @maps
// CHECK: [[X:%[a-z_]+]] = npu.transpose %x perm [0, 3, 1, 2]
// CHECK-NEXT: %p = npu.avg_pool2d [[X]] kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
// CHECK-NEXT: %g = npu.map [[X]] with sigmoid
// CHECK-NEXT: %s = npu.add %p, %g
// CHECK-NEXT: %m = npu.max_pool2d [[X]] kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
// CHECK-NEXT: %c = npu.concat %s, %m axis 1
// CHECK-NEXT: %f = npu.global_avg_pool2d %c
// CHECK-NEXT: npu.reshape %f {{.*}} -> tensor<1x4xf32>
// CHECK-NOT: npu.transpose
func.func @maps(%x: tensor<1x4x4x2xf32>) -> tensor<1x4xf32> {
  %p = tosa.avg_pool2d %x {acc_type = f32, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %g = tosa.sigmoid %x : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %s = tosa.add %p, %g : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %m = tosa.max_pool2d %x {kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %c = tosa.concat %s, %m {axis = 3 : i32} : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x4xf32>
  %f = tosa.avg_pool2d %c {acc_type = f32, kernel = array<i64: 4, 4>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>) -> tensor<1x1x1x4xf32>
  %r = tosa.reshape %f {new_shape = array<i64: 1, 4>} : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}

// Constants move their axes, too, also those that are no weights.
// CHECK-LABEL: func.func @constants
// CHECK: %k = arith.constant dense<{{.*}}> : tensor<1x2x1x1xf32>
// CHECK: npu.mul %p, %k
// CHECK: npu.binary %{{[a-z_0-9]+}}, %p with sub
func.func @constants(%x: tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32> {
  %k = "tosa.const"() <{value = dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>}> : () -> tensor<1x1x1x2xf32>
  %p = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  %m = tosa.mul %p, %k {shift = 0 : i8} : (tensor<1x2x2x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x2x2x2xf32>
  %d = tosa.sub %m, %p : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %d : tensor<1x2x2x2xf32>
}

// Two orders in a row are one.
// CHECK-LABEL: func.func @orders
// CHECK: %p = npu.max_pool2d
// CHECK-NEXT: [[T:%[a-z_0-9]+]] = npu.transpose %p perm [0, 1, 3, 2] {{.*}} : tensor<1x2x2x4xf32> -> tensor<1x2x4x2xf32>
// CHECK-NEXT: npu.max_pool2d [[T]]
func.func @orders(%x: tensor<1x4x8x2xf32>) -> tensor<1x2x1x2xf32> {
  %order = "tosa.const"() <{value = dense<[0, 2, 1, 3]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %p = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x8x2xf32>) -> tensor<1x2x4x2xf32>
  %t = tosa.transpose %p, %order : (tensor<1x2x4x2xf32>, tensor<4xi32>) -> tensor<1x4x2x2xf32>
  %q = tosa.max_pool2d %t {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x1x2xf32>
  return %q : tensor<1x2x1x2xf32>
}

// Zeros that are put around a map count in its averages.
// CHECK-LABEL: func.func @averages
// CHECK: npu.avg_pool2d {{.*}} kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] count_include_pad
func.func @averages(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  %around = "tosa.const"() <{value = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi32>}> : () -> tensor<4x2xi32>
  %p = tosa.pad %x, %around : (tensor<1x4x4x2xf32>, tensor<4x2xi32>) -> tensor<1x6x6x2xf32>
  %a = tosa.avg_pool2d %p {acc_type = f32, kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x6x6x2xf32>) -> tensor<1x4x4x2xf32>
  return %a : tensor<1x4x4x2xf32>
}
