// RUN: NPU_ROUNDTRIP

// The forms of MLIR 19 and of later versions; what is not here is xDSL's own.

// CHECK-LABEL: func.func @older
// CHECK: %w = "tosa.const"() <{value = dense<1> : tensor<2x1x1x3xi8>}> : () -> tensor<2x1x1x3xi8>
// CHECK: tosa.conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, quantization_info = #tosa.conv_quant<input_zp = -1, weight_zp = 0>, stride = array<i64: 1, 1>} : (tensor<1x2x2x3xi8>, tensor<2x1x1x3xi8>, tensor<2xi32>) -> tensor<1x2x2x2xi32>
// CHECK: tosa.avg_pool2d %x {acc_type = i32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, quantization_info = #tosa.unary_quant<input_zp = 1, output_zp = 2>, stride = array<i64: 2, 2>}
func.func @older(%x: tensor<1x2x2x3xi8>, %b: tensor<2xi32>) {
  %w = "tosa.const"() <{value = dense<1> : tensor<2x1x1x3xi8>}> : () -> tensor<2x1x1x3xi8>
  %c = tosa.conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, quantization_info = #tosa.conv_quant<input_zp = -1, weight_zp = 0>, stride = array<i64: 1, 1>} : (tensor<1x2x2x3xi8>, tensor<2x1x1x3xi8>, tensor<2xi32>) -> tensor<1x2x2x2xi32>
  %a = tosa.avg_pool2d %x {acc_type = i32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, quantization_info = #tosa.unary_quant<input_zp = 1, output_zp = 2>, stride = array<i64: 2, 2>} : (tensor<1x2x2x3xi8>) -> tensor<1x1x1x3xi8>
  return
}

// CHECK-LABEL: func.func @newer
// CHECK: %s = tosa.const_shape {values = dense<[2, 6]> : tensor<2xindex>} : () -> !tosa.shape<2>
// CHECK: tosa.reshape %x, %s : (tensor<1x2x2x3xi8>, !tosa.shape<2>) -> tensor<2x6xi8>
// CHECK: tosa.rescale %x, %m, %h, %z, %z {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true}
// CHECK: tosa.clamp %x {max_val = 7 : i8, min_val = -7 : i8, nan_mode = IGNORE}
func.func @newer(%x: tensor<1x2x2x3xi8>, %m: tensor<1xi32>, %h: tensor<1xi8>, %z: tensor<1xi8>) {
  %s = tosa.const_shape {values = dense<[2, 6]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %r = tosa.reshape %x, %s : (tensor<1x2x2x3xi8>, !tosa.shape<2>) -> tensor<2x6xi8>
  %q = tosa.rescale %x, %m, %h, %z, %z {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<1x2x2x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x3xi8>
  %c = tosa.clamp %x {max_val = 7 : i8, min_val = -7 : i8, nan_mode = IGNORE} : (tensor<1x2x2x3xi8>) -> tensor<1x2x2x3xi8>
  return
}
