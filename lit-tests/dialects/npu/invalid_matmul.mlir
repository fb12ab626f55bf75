// RUN: NPU_DIAGNOSTICS

func.func @f(%a: tensor<4xf32>, %b: tensor<4x3xf32>) {
  %y = npu.matmul %a, %b : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  func.return
}
// CHECK: expected maps of at least 2 axes, got tensor<4xf32> and tensor<4x3xf32>

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4x3xf32>) {
  %y = npu.matmul %a, %b transposed_rhs : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected matrices of 4 columns and 4 rows, got 3 rows: tensor<2x4xf32> and tensor<4x3xf32>

// -----

func.func @f(%a: tensor<2x2x4xf32>, %b: tensor<3x4x3xf32>) {
  %y = npu.matmul %a, %b : (tensor<2x2x4xf32>, tensor<3x4x3xf32>) -> tensor<3x2x3xf32>
  func.return
}
// CHECK: expected matrices whose other axes broadcast, got tensor<2x2x4xf32> and tensor<3x4x3xf32>

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4x3xf32>) {
  %y = npu.matmul %a, %b then max_pool [2, 2] by [2, 2] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: expected no pooling window behind a matrix product

// -----

func.func @f(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  %y = npu.matmul %a, %b : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  func.return
}
// CHECK: expected operands with elements of type i32, got tensor<2x4xi8>

// -----

func.func @f(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  %y = npu.matmul %a, %b then requantize scales [0.5] zero_point 0 mode float : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi8>
  func.return
}
// CHECK: expected requantize only with zero_points [lhs, rhs]

// -----

func.func @f(%a: tensor<2x4xi8>, %b: tensor<4x3xui8>) {
  %y = npu.matmul %a, %b zero_points [0, -1] : (tensor<2x4xi8>, tensor<4x3xui8>) -> tensor<2x3xi32>
  func.return
}
// CHECK: expected a zero point of ui8 in [0, 255], got -1

// -----

func.func @f(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  %y = npu.matmul %a, %b zero_points [0, 0] then requantize scales [0.5, 0.25, 0.125] zero_point 0 mode float : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi8>
  func.return
}
// CHECK: expected 1 scales, got 3
