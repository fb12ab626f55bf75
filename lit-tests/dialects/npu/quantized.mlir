// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @edges
// GENERIC-LABEL: sym_name = "edges"
func.func @edges(%x: tensor<1x4xf32>, %s: tensor<1x4xi32>) {
  // CHECK: %q = npu.quantize %x scales [0.1] zero_point -3 : tensor<1x4xf32> -> tensor<1x4xi8>
  // GENERIC: "npu.quantize"(%x) <{scales = array<f32: 1.000000e-01>, zero_point = -3 : i64
  %q = npu.quantize %x scales [0.1] zero_point -3 : tensor<1x4xf32> -> tensor<1x4xi8>
  // CHECK: npu.quantize %x scales [1.0e-07] zero_point 255 : tensor<1x4xf32> -> tensor<1x4xui8>
  %u = npu.quantize %x scales [1.0e-7] zero_point 255 : tensor<1x4xf32> -> tensor<1x4xui8>
  // CHECK: npu.dequantize %q scales [0.1] zero_point -3 : tensor<1x4xi8> -> tensor<1x4xf32>
  %d = npu.dequantize %q scales [0.1] zero_point -3 : tensor<1x4xi8> -> tensor<1x4xf32>
  // CHECK: npu.dequantize %s scales [0.1, 0.2, 0.3, 0.4] zero_point 0 : tensor<1x4xi32> -> tensor<1x4xf32>
  %e = npu.dequantize %s scales [0.1, 0.2, 0.3, 0.4] zero_point 0 : tensor<1x4xi32> -> tensor<1x4xf32>
  func.return
}

// CHECK-LABEL: func.func @sums
// GENERIC-LABEL: sym_name = "sums"
func.func @sums(%x: tensor<1x1x6x6xui8>, %w: tensor<2x1x3x3xi8>, %b: tensor<2xi32>, %v: tensor<1x8xi8>, %m: tensor<4x8xi8>) {
  // CHECK: pads [1, 1, 1, 1] zero_points [128, 0] : (tensor<1x1x6x6xui8>, tensor<2x1x3x3xi8>, tensor<2xi32>) -> tensor<1x2x6x6xi32>
  // GENERIC: zero_points = array<i64: 128, 0>
  %s = npu.conv2d %x, %w, %b pads [1, 1, 1, 1] zero_points [128, 0] : (tensor<1x1x6x6xui8>, tensor<2x1x3x3xi8>, tensor<2xi32>) -> tensor<1x2x6x6xi32>
  // CHECK: npu.requantize %s scales [0.01, 0.02] zero_points [0, -128] mode fixed : tensor<1x2x6x6xi32> -> tensor<1x2x6x6xi8>
  %q = npu.requantize %s scales [0.01, 0.02] zero_points [0, -128] mode fixed : tensor<1x2x6x6xi32> -> tensor<1x2x6x6xi8>
  // CHECK: npu.requantize %x scales [0.5] divisor 0.25 zero_points [128, 0] mode float : tensor<1x1x6x6xui8> -> tensor<1x1x6x6xi8>
  %r = npu.requantize %x scales [0.5] divisor 0.25 zero_points [128, 0] mode float : tensor<1x1x6x6xui8> -> tensor<1x1x6x6xi8>
  // CHECK: zero_points [128, 0] then requantize scales [0.01, 0.02] zero_point -3 mode float then clamp [-3.0, 100.0] then max_pool [2, 2] by [2, 2] : (
  // GENERIC: epilogue = #npu.epilogue<then requantize scales [0.01, 0.02] zero_point -3 mode float
  %f = npu.conv2d %x, %w, %b pads [1, 1, 1, 1] zero_points [128, 0] then requantize scales [0.01, 0.02] zero_point -3 mode float then clamp [-3.0, 100.0] then max_pool [2, 2] by [2, 2] : (tensor<1x1x6x6xui8>, tensor<2x1x3x3xi8>, tensor<2xi32>) -> tensor<1x2x3x3xi8>
  // CHECK: npu.fully_connected %v, %m zero_points [0, -2] then requantize scales [0.5] zero_point 0 mode fixed : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xui8>
  %c = npu.fully_connected %v, %m zero_points [0, -2] then requantize scales [0.5] zero_point 0 mode fixed : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xui8>
  func.return
}

// CHECK-LABEL: func.func @layers
func.func @layers(%a: tensor<1x2x4x4xi8>, %b: tensor<2x1x1xui8>) {
  // CHECK: npu.quantized_add %a, %b scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode qlinear : (tensor<1x2x4x4xi8>, tensor<2x1x1xui8>) -> tensor<1x2x4x4xi8>
  %s = npu.quantized_add %a, %b scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode qlinear : (tensor<1x2x4x4xi8>, tensor<2x1x1xui8>) -> tensor<1x2x4x4xi8>
  // CHECK: npu.quantized_avg_pool2d %a kernel [2, 2] strides [2, 2] count_include_pad scales [0.5, 0.25] zero_points [-1, 7] mode float : tensor<1x2x4x4xi8> -> tensor<1x2x2x2xi8>
  %p = npu.quantized_avg_pool2d %a kernel [2, 2] strides [2, 2] count_include_pad scales [0.5, 0.25] zero_points [-1, 7] mode float : tensor<1x2x4x4xi8> -> tensor<1x2x2x2xi8>
  func.return
}

// CHECK-LABEL: func.func @maps_of_16_bits
func.func @maps_of_16_bits(%x: tensor<1x4x6x6xi16>, %w: tensor<2x4x3x3xi8>, %b: tensor<2xi32>, %wide: tensor<2xi64>) {
  // CHECK: npu.conv2d %x, %w, %b {{.*}} zero_points [0, 0] : (tensor<1x4x6x6xi16>, tensor<2x4x3x3xi8>, tensor<2xi32>) -> tensor<1x2x4x4xi32>
  %s = npu.conv2d %x, %w, %b zero_points [0, 0] : (tensor<1x4x6x6xi16>, tensor<2x4x3x3xi8>, tensor<2xi32>) -> tensor<1x2x4x4xi32>
  // CHECK: npu.conv2d %x, %w, %wide {{.*}} zero_points [0, 0] : (tensor<1x4x6x6xi16>, tensor<2x4x3x3xi8>, tensor<2xi64>) -> tensor<1x2x4x4xi64>
  %t = npu.conv2d %x, %w, %wide zero_points [0, 0] : (tensor<1x4x6x6xi16>, tensor<2x4x3x3xi8>, tensor<2xi64>) -> tensor<1x2x4x4xi64>
  // CHECK: npu.requantize %t scales [0.5] zero_points [0, 0] mode fixed : tensor<1x2x4x4xi64> -> tensor<1x2x4x4xi16>
  %q = npu.requantize %t scales [0.5] zero_points [0, 0] mode fixed : tensor<1x2x4x4xi64> -> tensor<1x2x4x4xi16>
  // CHECK: npu.quantized_add %q, %q scales [0.5, 0.5, 1.0] zero_points [0, 0, -3] mode float : (tensor<1x2x4x4xi16>, tensor<1x2x4x4xi16>) -> tensor<1x2x4x4xi8>
  %a = npu.quantized_add %q, %q scales [0.5, 0.5, 1.0] zero_points [0, 0, -3] mode float : (tensor<1x2x4x4xi16>, tensor<1x2x4x4xi16>) -> tensor<1x2x4x4xi8>
  func.return
}
