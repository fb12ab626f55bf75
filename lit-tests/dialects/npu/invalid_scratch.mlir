// RUN: NPU_DIAGNOSTICS

func.func @f(%x: memref<1x4x9x9xi8, #npu.sram>, %w: memref<4x1x3x3xi8, #npu.flash>, %y: memref<1x4x7x7xi8, #npu.sram>, %s: memref<9x11xi16, #npu.sram>) {
  npu.conv2d ins(%x, %w : memref<1x4x9x9xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x7x7xi8, #npu.sram>) scratch(%s : memref<9x11xi16, #npu.sram>) groups 4 zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float
  func.return
}
// CHECK: expected scratch to be a vector of i8 or i16, got memref<9x11xi16, #npu.sram>

// -----

func.func @f(%x: memref<1x4x9x9xi8, #npu.sram>, %w: memref<4x1x3x3xi8, #npu.flash>, %y: memref<1x4x7x7xi8, #npu.sram>, %s: memref<99xi32, #npu.sram>) {
  npu.conv2d ins(%x, %w : memref<1x4x9x9xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x7x7xi8, #npu.sram>) scratch(%s : memref<99xi32, #npu.sram>) groups 4 zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float
  func.return
}
// CHECK: expected scratch to be a vector of i8 or i16, got memref<99xi32, #npu.sram>

// -----

func.func @f(%x: memref<1x4x9x9xi8, #npu.sram>, %w: memref<4x1x3x3xi8, #npu.flash>, %y: memref<1x4x7x7xi8, #npu.sram>, %s: memref<99xi16, #npu.sram>) {
  npu.conv2d ins(%x, %w : memref<1x4x9x9xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x7x7xi8, #npu.sram>) scratch(%s, %s : memref<99xi16, #npu.sram>, memref<99xi16, #npu.sram>) groups 4 zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float
  func.return
}
// CHECK: expected one buffer in scratch(...)

// -----

func.func @f(%x: memref<2x4xf32>, %y: memref<2x4xf32>, %s: memref<99xi16, #npu.sram>) {
  npu.relu ins(%x : memref<2x4xf32>) outs(%y : memref<2x4xf32>) scratch(%s : memref<99xi16, #npu.sram>)
  func.return
}
// CHECK: expected

// -----

%x, %w, %s = "test.op"() : () -> (tensor<1x4x9x9xf32>, tensor<4x1x3x3xf32>, memref<99xi16, #npu.sram>)
%y = "npu.conv2d"(%x, %w, %s) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0>}> : (tensor<1x4x9x9xf32>, tensor<4x1x3x3xf32>, memref<99xi16, #npu.sram>) -> tensor<1x4x7x7xf32>
// CHECK: expected scratch only beside a destination buffer
