// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = npu.conv2d %x, %w then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected 3-4 input operands, got 2

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = npu.conv2d %x, %w, %r then add residual third : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected a residual first or second, got third

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<2x1x1xf32>) {
  %y = npu.conv2d %x, %w, %r then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected a residual of shape [1, 2, 4, 4], got tensor<2x1x1xf32>

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf64>) {
  %y = npu.conv2d %x, %w, %r then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf64>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected operands with elements of type f32, got tensor<1x2x4x4xf64>

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = npu.conv2d %x, %w, %r then add residual first then relu then relu : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected one activation behind an addition, and nothing else

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = npu.conv2d %x, %w, %r then add residual first then max_pool [2, 2] by [2, 2] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected one activation behind an addition, and nothing else

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = npu.conv2d %x, %w, %r then max_pool [2, 2] by [2, 2] then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected an activation, or one pooling window after it, or one addition

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = npu.conv2d %x, %w, %r then add residual first scales [0.5, 0.5, 0.5] zero_points [0, 0, 0] mode float : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected an addition with scales behind requantize, without scales behind floats

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected an addition with scales behind requantize, without scales behind floats

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5] zero_points [0, 0] mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected 3 scales, got 2

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5, 0.0] zero_points [0, 0, 0] mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected positive, finite scales, got [0.5, 0.5, 0.0]

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5, 0.5] zero_points [0, 0] mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected 3 zero points, got [0, 0]

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5, 0.5] zero_points [200, 0, 0] mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected a zero point of i8 in [-128, 127], got 200

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xui8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual second scales [0.5, 0.5, 0.5] zero_points [200, 0, 0] mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected a zero point of i8 in [-128, 127], got 200

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi8>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5, 0.5] zero_points [0, 0, 0] mode odd : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected mode float or fixed or qlinear or half_up or double_round, got odd

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xi32>) {
  %y = npu.conv2d %x, %w, %r zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5, 0.5] zero_points [0, 0, 0] mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>, tensor<1x2x4x4xi32>) -> tensor<1x2x4x4xi8>
  func.return
}
// CHECK: expected a residual with elements of type i8 or ui8 or i16, got tensor<1x2x4x4xi32>

// -----

func.func @f(%x: memref<1x2x4x4xf32>, %w: memref<2x2x1x1xf32>, %r: memref<1x2x4x4xf32>, %y: memref<1x2x4x4xf32>) {
  npu.conv2d ins(%x, %w, %r : memref<1x2x4x4xf32>, memref<2x2x1x1xf32>, memref<1x2x4x4xf32>) outs(%y : memref<1x2x4x4xf32>) accumulate then add residual first
  func.return
}
// CHECK: expected an addition or sums that accumulate, got both

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) {
  %y = "npu.conv2d"(%x, %w, %r) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>}> : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected `then add residual` and the residual as last input

// -----

func.func @f(%x: tensor<1x4xf32>, %w: tensor<3x4xf32>) {
  %y = npu.fully_connected %x, %w then add residual first : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<1x3xf32>
  func.return
}
// CHECK: expected no addition behind a fully connected layer

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  %y = npu.add %x, %x then max_pool [2, 2] by [2, 2] : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  func.return
}
// CHECK: expected one activation behind an addition, and nothing else

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.add %x, %x then clamp [2.0, 1.0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: expected clamp bounds low <= high, got [2.0, 1.0]

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.add %x, %x then relu then relu : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: expected one activation behind an addition, and nothing else
