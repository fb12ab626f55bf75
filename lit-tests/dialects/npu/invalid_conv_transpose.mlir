// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<1x4x5xf32>, %w: tensor<2x4x4x4xf32>) {
  %y = npu.conv_transpose2d %x, %w : (tensor<1x4x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// CHECK: expected an input of rank 4, got tensor<1x4x5xf32>

// -----

func.func @f(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x4x4xf32>) {
  %y = npu.conv_transpose2d %x, %w groups 2 : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// CHECK: expected a weight with 2 channels per group, got 4

// -----

func.func @f(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x4x4xf32>, %b: tensor<4xf32>) {
  %y = npu.conv_transpose2d %x, %w, %b : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>, tensor<4xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// CHECK: expected a bias of shape [2], got tensor<4xf32>

// -----

func.func @f(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x4x4xf32>) {
  %y = npu.conv_transpose2d %x, %w strides [0, 1] : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// CHECK: expected strides of at least 1, got [0, 1]

// -----

func.func @f(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x4x4xf32>) {
  %y = npu.conv_transpose2d %x, %w pads [4, 0, 4, 0] : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// CHECK: expected pads that leave at least 1 output, got [4, 0, 4, 0] and [0, 8] outputs

// -----

func.func @f(%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x4x4xf32>) {
  %y = npu.conv_transpose2d %x, %w then relu : (tensor<1x4x5x5xf32>, tensor<2x4x4x4xf32>) -> tensor<1x2x8x8xf32>
  func.return
}
// CHECK: expected plain sums: what follows is fused into the phases

// -----

func.func @f(%x: memref<1x4x5x5xf32>, %w: memref<2x4x4x4xf32>, %y: memref<1x2x8x8xf32>) {
  npu.conv_transpose2d ins(%x, %w : memref<1x4x5x5xf32>, memref<2x4x4x4xf32>) outs(%y : memref<1x2x8x8xf32>)
  func.return
}
// CHECK: expected a tensor: run npu-split-conv-transpose

// -----

func.func @f(%a: tensor<1x4x3xf32>) {
  %y = npu.interleave %a, %a steps [1, 1, 3] : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x6xf32>
  func.return
}
// CHECK: expected steps of at least 1 whose product is 2, the number of parts, got [1, 1, 3]

// -----

func.func @f(%a: tensor<1x4x3xf32>) {
  %y = npu.interleave %a, %a steps [1, 2] : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x6xf32>
  func.return
}
// CHECK: expected parts of rank 2, as many as steps, got shapes {{\[\[}}1, 4, 3], [1, 4, 3]]

// -----

func.func @f(%a: tensor<1x4x2xf32>, %b: tensor<1x4x3xf32>) {
  %y = npu.interleave %a, %b steps [1, 1, 2] : (tensor<1x4x2xf32>, tensor<1x4x3xf32>) -> tensor<1x4x5xf32>
  func.return
}
// CHECK: expected part [0, 0, 0] of shape [1, 4, 3], for a map of shape [1, 4, 5], got [1, 4, 2]
