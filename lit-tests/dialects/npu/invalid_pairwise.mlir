// RUN: NPU_DIAGNOSTICS

// CHECK: expected with sub or div or max or min or pow or mod or rem or equal or not_equal or less or less_or_equal or greater or greater_or_equal or and or or or xor, got mul
func.func @a_product(%a: tensor<4xf32>) {
  %0 = npu.binary %a, %a with mul : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: got mul
func.func @a_product_in_generic_form(%a: tensor<4xf32>) {
  %0 = "npu.binary"(%a, %a) <{kind = #npu<binary_kind mul>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected operands that broadcast, got tensor<4xf32> and tensor<3xf32>
func.func @shapes(%a: tensor<4xf32>, %b: tensor<3xf32>) {
  %0 = npu.binary %a, %b with sub : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected two operands of sub with elements of type f32, got tensor<4xi32>
func.func @elements(%a: tensor<4xf32>, %b: tensor<4xi32>) {
  %0 = npu.binary %a, %b with sub : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected a result of less with elements of type ui8, got tensor<4xf32>
func.func @comparison(%a: tensor<4xf32>) {
  %0 = npu.binary %a, %a with less : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected operands of and with elements of type i32 or i8 or ui8 or i16, got tensor<4xf32>
func.func @logic(%a: tensor<4xf32>) {
  %0 = npu.binary %a, %a with and : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected a condition with elements of type ui8, got tensor<4xf32>
func.func @condition(%a: tensor<4xf32>) {
  %0 = npu.where %a, %a, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected a second map to choose from with elements of type f32, got tensor<4xi32>
func.func @choice(%c: tensor<4xui8>, %a: tensor<4xf32>, %b: tensor<4xi32>) {
  %0 = npu.where %c, %a, %b : (tensor<4xui8>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected operands that broadcast, got tensor<4xui8>, tensor<1xf32>, tensor<3xf32>
func.func @where_shapes(%c: tensor<4xui8>, %a: tensor<1xf32>, %b: tensor<3xf32>) {
  %0 = npu.where %c, %a, %b : (tensor<4xui8>, tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected float or integer elements, got tensor<4xindex>
func.func @cast(%a: tensor<4xindex>) {
  %0 = npu.cast %a : tensor<4xindex> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected axes in [0, 2), each once and in order, got [1, 0]
func.func @axes(%a: tensor<4x4xf32>) {
  %0 = npu.reduce %a with sum axes [1, 0] : tensor<4x4xf32> -> tensor<1x1xf32>
  func.return
}

// -----

// CHECK: expected one axis for argmax, got [0, 1]
func.func @argmax(%a: tensor<4x4xf32>) {
  %0 = npu.reduce %a with argmax axes [0, 1] : tensor<4x4xf32> -> tensor<1x1xi32>
  func.return
}

// -----

// CHECK: expected `last` with argmax or argmin, got sum
func.func @last(%a: tensor<4x4xf32>) {
  %0 = npu.reduce %a with sum axes [0] last : tensor<4x4xf32> -> tensor<1x4xf32>
  func.return
}

// -----

// CHECK: expected elements along the axes, got tensor<0x4xf32>
func.func @nothing(%a: tensor<0x4xf32>) {
  %0 = npu.reduce %a with max axes [0] : tensor<0x4xf32> -> tensor<1x4xf32>
  func.return
}

// -----

// CHECK: expected an output of argmin with elements of type i32, got tensor<1xf32>
func.func @index(%a: tensor<4xf32>) {
  %0 = npu.reduce %a with argmin axes [0] : tensor<4xf32> -> tensor<1xf32>
  func.return
}

// -----

// CHECK: expected an output of shape [1, 4], got [4]
func.func @shape(%a: tensor<4x4xf32>) {
  %0 = npu.reduce %a with sum axes [0] : tensor<4x4xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: expected mode float, got fixed
func.func @quotient(%a: tensor<4xi8>) {
  %0 = npu.quantized_binary %a, %a with div scales [0.5, 0.25, 0.75] zero_points [0, 3, 1] mode fixed : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: expected mode float or fixed, got qlinear
func.func @difference(%a: tensor<4xi8>) {
  %0 = npu.quantized_binary %a, %a with sub scales [0.5, 0.25, 0.75] zero_points [0, 3, 1] mode qlinear : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: expected mul or sub or div or max or min, got pow
func.func @quantised_power(%a: tensor<4xi8>) {
  %0 = "npu.quantized_binary"(%a, %a) <{kind = #npu<binary_kind pow>, scales = array<f32: 0.5, 0.25, 0.75>, zero_points = array<i64: 0, 3, 1>, mode = #npu<mode float>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: expected 3 scales, got 2
func.func @scales(%a: tensor<4xi8>) {
  %0 = npu.quantized_binary %a, %a with mul scales [0.5, 0.25] zero_points [0, 3, 1] mode float : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: expected a zero point of i8 in [-128, 127], got 200
func.func @points(%a: tensor<4xi8>) {
  %0 = npu.quantized_binary %a, %a with mul scales [0.5, 0.25, 0.75] zero_points [0, 200, 1] mode float : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}
