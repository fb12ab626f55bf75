// RUN: NPU_DIAGNOSTICS

// CHECK: expected scales of 31 bits above 2^-32 in mode half_up, got 0.1
func.func @digits(%s: tensor<1x2xi32>) {
  %a = npu.requantize %s scales [0.1] zero_points [0, 0] mode half_up : tensor<1x2xi32> -> tensor<1x2xi8>
  func.return
}

// -----

// CHECK: expected no divisor in mode half_up
func.func @divisor(%s: tensor<1x2xi8>) {
  %a = npu.requantize %s scales [0.5] divisor 2.0 zero_points [0, 0] mode half_up : tensor<1x2xi8> -> tensor<1x2xi8>
  func.return
}

// -----

// CHECK: expected scales of f64 in mode half_up
func.func @single(%s: tensor<1x2xi32>) {
  %a = "npu.requantize"(%s) <{scales = array<f32: 0.5>, zero_points = array<i64: 0, 0>, mode = #npu<mode half_up>, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<1x2xi32>) -> tensor<1x2xi8>
  func.return
}

// -----

// CHECK: expected an output with elements of type i8 or ui8 or i16, got tensor<1x2xi32>
func.func @sums(%s: tensor<1x2xi32>) {
  %a = npu.requantize %s scales [0.5] zero_points [0, 0] mode fixed : tensor<1x2xi32> -> tensor<1x2xi32>
  func.return
}

// -----

// CHECK: expected equal scales in mode half_up
func.func @average(%m: tensor<1x2x2x2xi8>) {
  %e = npu.quantized_avg_pool2d %m kernel [2, 2] strides [1, 1] scales [1.0, 2.0] zero_points [1, 2] mode half_up : tensor<1x2x2x2xi8> -> tensor<1x2x1x1xi8>
  func.return
}

// -----

// CHECK: expected sums of i32 in mode half_up
func.func @wide(%x: tensor<1x2xi16>, %w: tensor<1x2xi8>, %b: tensor<1xi64>) {
  %e = npu.fully_connected %x, %w, %b zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode half_up : (tensor<1x2xi16>, tensor<1x2xi8>, tensor<1xi64>) -> tensor<1x1xi16>
  func.return
}

// -----

// CHECK: expected mode float or fixed or qlinear, got half_up
func.func @product(%m: tensor<1x2xi8>) {
  %e = npu.quantized_binary %m, %m with mul scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode half_up : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x2xi8>
  func.return
}

// -----

// CHECK: expected scales of 31 bits above 2^-32 in mode half_up, got 0.1
func.func @pair(%m: tensor<1x2xi8>) {
  %e = npu.quantized_add %m, %m scales [1.0, 0.1, 1.0] zero_points [0, 0, 0] mode half_up : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x2xi8>
  func.return
}

// -----

// CHECK: expected scales of f32 in mode fixed
func.func @double(%m: tensor<1x2xi8>) {
  %a = "npu.quantized_add"(%m, %m) <{scales = array<f64: 0.5, 0.5, 0.5>, zero_points = array<i64: 0, 0, 0>, mode = #npu<mode fixed>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x2xi8>
  func.return
}

// -----

// 255 * 8388608 twice, and one more for each rounding.
// CHECK: expected a sum below 2^31, got up to 4278190082
func.func @large(%m: tensor<1x2xi8>) {
  %e = npu.quantized_add %m, %m scales [8388608.0, 8388608.0, 1.0] zero_points [127, 127, 0] mode half_up : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x2xi8>
  func.return
}

// -----

// CHECK: expected a sum below 2^31, got up to 2147483650
func.func @large_residual(%m: tensor<1x2x1x1xi8>, %w: tensor<2x2x1x1xi8>) {
  %e = npu.conv2d %m, %w, %m zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode half_up then add residual first scales [8388608.0, 8388608.0, 1.0] zero_points [0, 0, 0] mode half_up : (tensor<1x2x1x1xi8>, tensor<2x2x1x1xi8>, tensor<1x2x1x1xi8>) -> tensor<1x2x1x1xi8>
  func.return
}
