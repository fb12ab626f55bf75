// RUN: npu-opt %s -p convert-tosa-to-npu | filecheck %s

// A scale is multiplier * 2^-shift, here 2^30 * 2^-38 and 1432587899 * 2^-37, exactly.
// CHECK-LABEL: func.func @conv
// CHECK: npu.conv2d {{.*}} pads [1, 1, 1, 1] zero_points [-1, 0] then requantize scales [0.00390625, 0.010423448831716087] zero_point -2 mode double_round then clamp [-2.0, 100.0] {npu.layer = "c"}
// CHECK: npu.quantized_avg_pool2d {{.*}} scales [1.0, 1.0] zero_points [-2, -2] mode half_up
func.func @conv(%x: tensor<1x8x8x3xi8>) -> tensor<1x8x8x2xi8> {
  %w = "tosa.const"() <{value = dense<1> : tensor<2x3x3x3xi8>}> : () -> tensor<2x3x3x3xi8>
  %b = "tosa.const"() <{value = dense<[100, -3]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %c = tosa.conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, quantization_info = #tosa.conv_quant<input_zp = -1, weight_zp = 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>) -> tensor<1x8x8x2xi32>
  %q = tosa.rescale %c {double_round = true, input_zp = 0 : i32, multiplier = array<i32: 1073741824, 1432587899>, output_zp = -2 : i32, per_channel = true, scale32 = true, shift = array<i8: 38, 37>} : (tensor<1x8x8x2xi32>) -> tensor<1x8x8x2xi8>
  %r = tosa.clamp %q {max_fp = 6.0 : f32, max_int = 100 : i64, min_fp = 0.0 : f32, min_int = -2 : i64} : (tensor<1x8x8x2xi8>) -> tensor<1x8x8x2xi8>
  %a = tosa.avg_pool2d %r {acc_type = i32, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>, quantization_info = #tosa.unary_quant<input_zp = -2, output_zp = -2>, stride = array<i64: 1, 1>} : (tensor<1x8x8x2xi8>) -> tensor<1x8x8x2xi8>
  return %a : tensor<1x8x8x2xi8>
}

// Sums of a fully connected layer have one scale; a map may change its scale by itself.
// CHECK-LABEL: func.func @dense
// CHECK: npu.fully_connected {{.*}} zero_points [3, 0] then requantize scales [0.5] zero_point 0 mode half_up
// CHECK: npu.requantize {{.*}} scales [0.75] zero_points [0, 5] mode half_up
func.func @dense(%x: tensor<1x4xi8>) -> tensor<1x2xi8> {
  %w = "tosa.const"() <{value = dense<1> : tensor<2x4xi8>}> : () -> tensor<2x4xi8>
  %b = "tosa.const"() <{value = dense<7> : tensor<2xi32>}> : () -> tensor<2xi32>
  %f = tosa.fully_connected %x, %w, %b {quantization_info = #tosa.conv_quant<input_zp = 3, weight_zp = 0>} : (tensor<1x4xi8>, tensor<2x4xi8>, tensor<2xi32>) -> tensor<1x2xi32>
  %q = tosa.rescale %f {double_round = false, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 31>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  %r = tosa.rescale %q {double_round = false, input_zp = 0 : i32, multiplier = array<i32: 1610612736>, output_zp = 5 : i32, per_channel = false, scale32 = true, shift = array<i8: 31>} : (tensor<1x2xi8>) -> tensor<1x2xi8>
  return %r : tensor<1x2xi8>
}

// A sum of two maps of different scales is one layer.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT: %q = npu.quantized_add %x, %y scales [1048576.0, 524288.0, 4.76837158203125e-07] zero_points [-3, 5, 7] mode double_round {npu.layer = "q"}
// CHECK-NEXT: func.return %q
func.func @sum(%x: tensor<1x2xi8>, %y: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %a = tosa.rescale %x {double_round = true, input_zp = -3 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 10>} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %b = tosa.rescale %y {double_round = true, input_zp = 5 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 11>} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %s = tosa.add %a, %b : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
  %q = tosa.rescale %s {double_round = true, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 7 : i32, per_channel = false, scale32 = true, shift = array<i8: 51>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  return %q : tensor<1x2xi8>
}

// A sum that may not fit into i32, and one that something else reads, stay sums of i32 maps.
// CHECK-LABEL: func.func @large
// CHECK: npu.add %a, %b
// CHECK: npu.requantize %s scales [4.76837158203125e-07] zero_points [0, 7] mode double_round
func.func @large(%x: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %a = tosa.rescale %x {double_round = true, input_zp = -3 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 7>} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %b = tosa.rescale %x {double_round = true, input_zp = 5 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 7>} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %s = tosa.add %a, %b : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
  %q = tosa.rescale %s {double_round = true, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 7 : i32, per_channel = false, scale32 = true, shift = array<i8: 51>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  return %q : tensor<1x2xi8>
}

// CHECK-LABEL: func.func @read_twice
// CHECK: npu.add %a, %a
// CHECK: npu.requantize %s
func.func @read_twice(%x: tensor<1x2xi8>) -> (tensor<1x2xi8>, tensor<1x2xi32>) {
  %a = tosa.rescale %x {double_round = true, input_zp = -3 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 10>} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %s = tosa.add %a, %a : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
  %q = tosa.rescale %s {double_round = true, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 7 : i32, per_channel = false, scale32 = true, shift = array<i8: 51>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  return %q, %s : tensor<1x2xi8>, tensor<1x2xi32>
}

// Two ways of rounding are no sum of one mode.
// CHECK-LABEL: func.func @modes
// CHECK: npu.add %a, %a
func.func @modes(%x: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %a = tosa.rescale %x {double_round = false, input_zp = -3 : i32, multiplier = array<i32: 1073741824>, output_zp = 0 : i32, per_channel = false, scale32 = true, shift = array<i8: 10>} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %s = tosa.add %a, %a : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
  %q = tosa.rescale %s {double_round = true, input_zp = 0 : i32, multiplier = array<i32: 1073741824>, output_zp = 7 : i32, per_channel = false, scale32 = true, shift = array<i8: 51>} : (tensor<1x2xi32>) -> tensor<1x2xi8>
  return %q : tensor<1x2xi8>
}
