// RUN: npu-opt %s -p convert-tosa-to-npu | filecheck %s
// RUN: npu-opt %s | npu-opt -p convert-tosa-to-npu | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt -p convert-tosa-to-npu | filecheck %s

// The forms of MLIR 21: zero points, pads, shapes, multipliers and shifts are operands.

// CHECK-LABEL: func.func @conv
// CHECK: npu.conv2d {{.*}} pads [1, 1, 1, 1] zero_points [-1, 0] then requantize scales [0.00390625, 0.010423448831716087] zero_point -2 mode double_round then clamp [-2.0, 100.0] {npu.layer = "c"}
// CHECK: npu.quantized_avg_pool2d {{.*}} zero_points [-2, -2] mode half_up
func.func @conv(%x: tensor<1x8x8x3xi8>) -> tensor<1x8x8x2xi8> {
  %w = "tosa.const"() <{values = dense<1> : tensor<2x3x3x3xi8>}> : () -> tensor<2x3x3x3xi8>
  %b = "tosa.const"() <{values = dense<[100, -3]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %xz = "tosa.const"() <{values = dense<-1> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %qz = "tosa.const"() <{values = dense<-2> : tensor<1xi8>}> : () -> tensor<1xi8>
  %cz = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %m = "tosa.const"() <{values = dense<[1073741824, 1432587899]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %s = "tosa.const"() <{values = dense<[38, 37]> : tensor<2xi8>}> : () -> tensor<2xi8>
  %c = tosa.conv2d %x, %w, %b, %xz, %wz {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x8x8x2xi32>
  %q = tosa.rescale %c, %m, %s, %cz, %qz {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = DOUBLE_ROUND, scale32 = true} : (tensor<1x8x8x2xi32>, tensor<2xi32>, tensor<2xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x8x8x2xi8>
  %r = tosa.clamp %q {max_val = 100 : i8, min_val = -2 : i8} : (tensor<1x8x8x2xi8>) -> tensor<1x8x8x2xi8>
  %a = tosa.avg_pool2d %r, %qz, %qz {acc_type = i32, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x8x8x2xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x8x8x2xi8>
  return %a : tensor<1x8x8x2xi8>
}

// CHECK-LABEL: func.func @floats
// CHECK: npu.max_pool2d {{.*}} pads [0, 0, 1, 1]
// CHECK: npu.relu
// CHECK: npu.slice {{.*}} offsets [0, 1, 0, 0] sizes [1, 1, 2, 2]
// CHECK: npu.reshape {{.*}} -> tensor<1x4xf32>
func.func @floats(%x: tensor<1x3x3x2xf32>) -> tensor<1x4xf32> {
  %around = tosa.const_shape {values = dense<[0, 0, 0, 1, 0, 1, 0, 0]> : tensor<8xindex>} : () -> !tosa.shape<8>
  %low = "tosa.const"() <{values = dense<-3.40282347E+38> : tensor<1xf32>}> : () -> tensor<1xf32>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %start = tosa.const_shape {values = dense<[0, 0, 0, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %size = tosa.const_shape {values = dense<[1, 2, 2, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %flat = tosa.const_shape {values = dense<[1, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %p = tosa.pad %x, %around, %low : (tensor<1x3x3x2xf32>, !tosa.shape<8>, tensor<1xf32>) -> tensor<1x4x4x2xf32>
  %m = tosa.max_pool2d %p {kernel = array<i64: 2, 2>, nan_mode = PROPAGATE, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  %r = tosa.clamp %m {max_val = 3.40282347E+38 : f32, min_val = 0.0 : f32} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %t = tosa.mul %r, %r, %z : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1xi8>) -> tensor<1x2x2x2xf32>
  %s = tosa.slice %t, %start, %size : (tensor<1x2x2x2xf32>, !tosa.shape<4>, !tosa.shape<4>) -> tensor<1x2x2x1xf32>
  %f = tosa.reshape %s, %flat : (tensor<1x2x2x1xf32>, !tosa.shape<2>) -> tensor<1x4xf32>
  return %f : tensor<1x4xf32>
}
