// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<4xf32>) {
  %y = npu.quantize %x scales [0.0] zero_point 0 : tensor<4xf32> -> tensor<4xi8>
  func.return
}
// CHECK: expected positive, finite scales, got [0.0]

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.quantize %x scales [inf] zero_point 0 : tensor<4xf32> -> tensor<4xi8>
  func.return
}
// CHECK: expected positive, finite scales, got [inf]

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.quantize %x scales [0.1, 0.2] zero_point 0 : tensor<4xf32> -> tensor<4xi8>
  func.return
}
// CHECK: expected 1 scales, got 2

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.quantize %x scales [0.1] zero_point 128 : tensor<4xf32> -> tensor<4xi8>
  func.return
}
// CHECK: expected a zero point of i8 in [-128, 127], got 128

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.quantize %x scales [0.1] zero_point 0 : tensor<4xf32> -> tensor<4xui16>
  func.return
}
// CHECK: expected an output with elements of type i8 or ui8 or i16, got tensor<4xui16>

// -----

func.func @f(%x: tensor<4xui16>) {
  %y = npu.dequantize %x scales [0.1] zero_point 0 : tensor<4xui16> -> tensor<4xf32>
  func.return
}
// CHECK: expected an input with elements of type i8 or ui8 or i16 or i32 or i64, got tensor<4xui16>

// -----

func.func @f(%x: tensor<4xi32>) {
  %y = npu.dequantize %x scales [0.1] zero_point 1 : tensor<4xi32> -> tensor<4xf32>
  func.return
}
// CHECK: expected a zero point of i32 in [0, 0], got 1

// -----

func.func @f(%x: tensor<1x4xi32>) {
  %y = npu.dequantize %x scales [0.1, 0.2, 0.3] zero_point 0 : tensor<1x4xi32> -> tensor<1x4xf32>
  func.return
}
// CHECK: expected 1 or 4 scales, got 3

// -----

func.func @f(%x: tensor<1x4xi32>) {
  %y = npu.requantize %x scales [0.1] zero_points [0] mode float : tensor<1x4xi32> -> tensor<1x4xi8>
  func.return
}
// CHECK: expected 2 zero points, got [0]

// -----

func.func @f(%x: tensor<1x4xi32>) {
  %y = npu.requantize %x scales [0.1] zero_points [0, 0] mode exact : tensor<1x4xi32> -> tensor<1x4xi8>
  func.return
}
// CHECK: expected mode float or fixed or half_up or double_round, got exact

// -----

func.func @f(%x: tensor<1x4xi32>) {
  %y = npu.requantize %x scales [0.1] divisor -1.0 zero_points [0, 0] mode float : tensor<1x4xi32> -> tensor<1x4xi8>
  func.return
}
// CHECK: expected positive, finite scales, got [-1.0]

// -----

func.func @f(%a: tensor<4xi8>) {
  %y = npu.quantized_add %a, %a scales [0.1, 0.2] zero_points [0, 0, 0] mode float : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}
// CHECK: expected 3 scales, got 2

// -----

func.func @f(%a: tensor<4xi8>) {
  %y = npu.quantized_add %a, %a scales [0.1, 0.2, 0.3] zero_points [0, 0] mode float : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}
// CHECK: expected 3 zero points, got [0, 0]

// -----

func.func @f(%a: tensor<1x1x4x4xi8>) {
  %y = npu.quantized_avg_pool2d %a kernel [2, 2] strides [2, 2] scales [0.1, 0.2] zero_points [0, 0] mode exact : tensor<1x1x4x4xi8> -> tensor<1x1x2x2xi8>
  func.return
}
// CHECK: expected mode float or fixed or qlinear or half_up, got exact

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>) {
  %y = npu.fully_connected %x, %w zero_points [0] : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi32>
  func.return
}
// CHECK: expected zero_points [input, weight], got [0]

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xui8>) {
  %y = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xui8>) -> tensor<1x4xi32>
  func.return
}
// CHECK: expected a weight with elements of type i8, got tensor<4x8xui8>

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>) {
  %y = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi8>
  func.return
}
// CHECK: expected an output with elements of type i32, got tensor<1x4xi8>

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>) {
  %y = npu.fully_connected %x, %w then requantize scales [0.5] zero_point 0 mode float : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi8>
  func.return
}
// CHECK: expected requantize only with zero_points [input, weight]

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>) {
  %y = npu.fully_connected %x, %w zero_points [0, 0] then requantize scales [0.5, 0.5] zero_point 0 mode float : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi8>
  func.return
}
// CHECK: expected 1 or 4 scales, got 2

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi8>) {
  %y = npu.fully_connected %x, %w, %b zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>, tensor<4xi8>) -> tensor<1x4xi32>
  func.return
}
// CHECK: expected a bias with elements of type i32 or i64, got tensor<4xi8>

// -----

func.func @f(%x: tensor<1x1x4x4xi8>, %w: tensor<1x1x1x1xi8>) {
  %y = npu.conv2d %x, %w zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then avg_pool [2, 2] by [2, 2] : (tensor<1x1x4x4xi8>, tensor<1x1x1x1xi8>) -> tensor<1x1x2x2xi8>
  func.return
}
// CHECK: expected no average of quantised integers

// -----

func.func @f(%x: memref<1x8xi8>, %w: memref<4x8xi8>, %y: memref<1x4xi8>) {
  npu.fully_connected ins(%x, %w : memref<1x8xi8>, memref<4x8xi8>) outs(%y : memref<1x4xi8>) accumulate zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float
  func.return
}
// CHECK: expected no requantize behind sums that accumulate

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.quantize %x scales [0.1] zero_point 32768 : tensor<4xf32> -> tensor<4xi16>
  func.return
}
// CHECK: expected a zero point of i16 in [-32768, 32767], got 32768

// -----

func.func @f(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi64>) {
  %y = npu.fully_connected %x, %w, %b zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>, tensor<4xi64>) -> tensor<1x4xi64>
  func.return
}
// CHECK: expected an input beside a bias of i64 with elements of type i16, got tensor<1x8xi8>

// -----

func.func @f(%x: tensor<1x8xi16>, %w: tensor<4x8xi8>, %b: tensor<4xi64>) {
  %y = npu.fully_connected %x, %w, %b zero_points [0, 0] : (tensor<1x8xi16>, tensor<4x8xi8>, tensor<4xi64>) -> tensor<1x4xi32>
  func.return
}
// CHECK: expected an output with elements of type i64, got tensor<1x4xi32>

// -----

func.func @f(%x: tensor<1x8xi16>, %w: tensor<4x8xi16>) {
  %y = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi16>, tensor<4x8xi16>) -> tensor<1x4xi32>
  func.return
}
// CHECK: expected a weight with elements of type i8, got tensor<4x8xi16>

// -----

func.func @f(%a: tensor<4xi16>) {
  %y = npu.quantized_binary %a, %a with mul scales [0.1, 0.1, 0.1] zero_points [-32768, -32768, 0] mode fixed : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
  func.return
}
// CHECK: expected mode float, got fixed

// -----

func.func @f(%a: tensor<1x1x256x256xi16>) {
  %y = npu.quantized_avg_pool2d %a kernel [256, 256] scales [0.1, 0.2] zero_points [0, 0] mode fixed : tensor<1x1x256x256xi16> -> tensor<1x1x1x1xi16>
  func.return
}
// CHECK: expected mode float, got fixed
