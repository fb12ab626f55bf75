// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @transposed
// GENERIC-LABEL: sym_name = "transposed"
func.func @transposed(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x4x4xf32>, %b: tensor<2xf32>, %g: tensor<8x1x3x3xf32>) {
  // CHECK: %plain = npu.conv_transpose2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  // GENERIC: %plain = "npu.conv_transpose2d"(%x, %w) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  %plain = npu.conv_transpose2d %x, %w : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  // CHECK: npu.conv_transpose2d %x, %w, %b strides [2, 3] pads [1, 0, -1, 2] dilations [2, 1] {npu.layer = "up"} : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>, tensor<2xf32>) -> tensor<1x2x15x14xf32>
  %all = npu.conv_transpose2d %x, %w, %b strides [2, 3] pads [1, 0, -1, 2] dilations [2, 1] {npu.layer = "up"} : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>, tensor<2xf32>) -> tensor<1x2x15x14xf32>
  // CHECK: npu.conv_transpose2d %x, %g strides [1, 1] pads [0, 0, 0, 0] groups 4 : (
  %groups = npu.conv_transpose2d %x, %g groups 4 : (tensor<1x4x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<1x4x5x5xui8>, %w: tensor<2x4x4x4xi8>, %b: tensor<2xi32>) {
  // CHECK: npu.conv_transpose2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] zero_points [128, -3] : (tensor<1x4x5x5xui8>, tensor<2x4x4x4xi8>, tensor<2xi32>) -> tensor<1x2x10x10xi32>
  %y = npu.conv_transpose2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] zero_points [128, -3] : (tensor<1x4x5x5xui8>, tensor<2x4x4x4xi8>, tensor<2xi32>) -> tensor<1x2x10x10xi32>
  func.return
}

// CHECK-LABEL: func.func @interleaved
// GENERIC-LABEL: sym_name = "interleaved"
func.func @interleaved(%a: tensor<1x4x3xf32>, %b: tensor<1x4x2xf32>, %m: memref<4xi8>, %n: memref<8xi8>) {
  // CHECK: npu.interleave %a, %b steps [1, 1, 2] : (tensor<1x4x3xf32>, tensor<1x4x2xf32>) -> tensor<1x4x5xf32>
  // GENERIC: "npu.interleave"(%a, %b) <{steps = array<i64: 1, 1, 2>, operandSegmentSizes = array<i32: 2, 0>}> : (tensor<1x4x3xf32>, tensor<1x4x2xf32>) -> tensor<1x4x5xf32>
  %two = npu.interleave %a, %b steps [1, 1, 2] : (tensor<1x4x3xf32>, tensor<1x4x2xf32>) -> tensor<1x4x5xf32>
  // CHECK: npu.interleave %b, %b, %b, %b steps [1, 2, 2] : (tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x8x4xf32>
  %four = npu.interleave %b, %b, %b, %b steps [1, 2, 2] : (tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x8x4xf32>
  // CHECK: npu.interleave ins(%m, %m : memref<4xi8>, memref<4xi8>) outs(%n : memref<8xi8>) steps [2]
  npu.interleave ins(%m, %m : memref<4xi8>, memref<4xi8>) outs(%n : memref<8xi8>) steps [2]
  func.return
}
