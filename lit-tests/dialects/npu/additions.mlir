// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @floats
// GENERIC-LABEL: sym_name = "floats"
func.func @floats(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>, %r: tensor<1x8x7x7xf32>) {
  // CHECK: npu.conv2d %x, %w, %r strides [1, 1] pads [0, 0, 0, 0] then add residual first : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  // GENERIC: "npu.conv2d"(%x, %w, %r) <{{{.*}}epilogue = #npu.epilogue<then add residual first>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>}>
  %a = npu.conv2d %x, %w, %r then add residual first : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  // CHECK: npu.conv2d %x, %w, %b, %a strides [1, 1] pads [0, 0, 0, 0] then relu then add residual second then clamp [0.0, 6.0] : (
  // GENERIC: "npu.conv2d"(%x, %w, %b, %a) <{{{.*}}{{.*}} then clamp [0.0, 6.0]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}>
  %c = npu.conv2d %x, %w, %b, %a then relu then add residual second then clamp [0.0, 6.0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>, tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  func.return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: memref<1x4x9x9xi8>, %w: memref<8x4x3x3xi8>, %r: memref<1x8x7x7xi8>, %u: memref<1x8x7x7xui8>, %y: memref<1x8x7x7xi8>) {
  // CHECK: npu.conv2d ins(%x, %w, %r : memref<1x4x9x9xi8>, memref<8x4x3x3xi8>, memref<1x8x7x7xi8>) outs(%r : memref<1x8x7x7xi8>) strides [1, 1] pads [0, 0, 0, 0] zero_points [-3, 0] then requantize scales [0.01] zero_point 3 mode float then clamp [3.0, 127.0] then add residual first scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode qlinear then relu
  npu.conv2d ins(%x, %w, %r : memref<1x4x9x9xi8>, memref<8x4x3x3xi8>, memref<1x8x7x7xi8>) outs(%r : memref<1x8x7x7xi8>) zero_points [-3, 0] then requantize scales [0.01] zero_point 3 mode float then clamp [3.0, 127.0] then add residual first scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode qlinear then relu
  // CHECK: then add residual second scales [0.5, 0.25, 0.75] zero_points [3, 255, -128] mode fixed
  npu.conv2d ins(%x, %w, %u : memref<1x4x9x9xi8>, memref<8x4x3x3xi8>, memref<1x8x7x7xui8>) outs(%y : memref<1x8x7x7xi8>) zero_points [-3, 0] then requantize scales [0.01] zero_point 3 mode fixed then add residual second scales [0.5, 0.25, 0.75] zero_points [3, 255, -128] mode fixed
  func.return
}
