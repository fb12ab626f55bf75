// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w strides [1] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected 2 strides, got [1]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w strides [1, 0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected strides of at least 1, got [1, 0]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w pads [0, 0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected 4 pads, got [0, 0]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w pads [0, 0, -1, 0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected pads of at least 0, got [0, 0, -1, 0]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w dilations [0, 1] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected dilations of at least 1, got [0, 1]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w dilations [5, 1] pads [0, 0, 1, 0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: Expected ':'

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w pads [0, 0, 1, 0] dilations [5, 1] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected a window of 11 to fit into 9 elements padded by 0 and 1

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x0x3xf32>) {
  %y = npu.conv2d %x, %w : (tensor<1x4x9x9xf32>, tensor<8x4x0x3xf32>) -> tensor<1x8x9x7xf32>
  func.return
}
// CHECK: expected kernel of at least 1, got [0, 3]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w groups 3 : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected groups that divide 4 channels and 8 filters, got 3

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w groups 0 : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected groups that divide 4 channels and 8 filters, got 0

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w groups 2 : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected a weight with 2 channels per group, got 4

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<4xf32>) {
  %y = npu.conv2d %x, %w, %b : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<4xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected a bias of shape [8], got tensor<4xf32>

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then max_pool [2] by [2, 2] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected 2 kernel, got [2]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then max_pool [8, 2] by [2, 2] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected a window of 8 to fit into 7 elements padded by 0 and 0

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then relu overlap accumulate : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: Expected ':'

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then max_pool [2, 2] by [2, 2] overlap twice : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected overlap accumulate or recompute, got twice

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = "npu.conv2d"(%x, %w) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, epilogue = #npu.epilogue<then relu overlap accumulate>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}> : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: '>' expected

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = "npu.conv2d"(%x, %w) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, epilogue = #npu.epilogue<then min_pool [2, 2] by [2, 2]>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}> : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected an activation, or one pooling window after it, or one addition

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.max_pool2d %x strides [2, 2] : tensor<1x4x9x9xf32> -> tensor<1x4x4x4xf32>
  func.return
}
// CHECK: expected `kernel`

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.max_pool2d %x kernel [0, 2] : tensor<1x4x9x9xf32> -> tensor<1x4x4x4xf32>
  func.return
}
// CHECK: expected kernel of at least 1, got [0, 2]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.avg_pool2d %x kernel [2, 11] pads [0, 0, 0, 1] : tensor<1x4x9x9xf32> -> tensor<1x4x4x4xf32>
  func.return
}
// CHECK: expected a window of 11 to fit into 9 elements padded by 0 and 1

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.avg_pool2d %x kernel [2, 2] pads [0, 2, 0, 0] : tensor<1x4x9x9xf32> -> tensor<1x4x8x10xf32>
  func.return
}
// CHECK: expected pooling windows that hold an element of the map, got windows of 2 over 9 elements padded by 2 and 0

// -----

func.func @f(%x: tensor<1x1x1x1xf32>) {
  %y = npu.max_pool2d %x kernel [1, 2] pads [0, 1, 0, 1] dilations [1, 2] : tensor<1x1x1x1xf32> -> tensor<1x1x1x1xf32>
  func.return
}
// CHECK: expected pooling windows that hold an element of the map, got windows of 2 over 1 elements padded by 1 and 1

// -----

func.func @f(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>) {
  %y = npu.conv2d %x, %w pads [9223372036854775807, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  func.return
}
// CHECK: expected at most 2147483647 elements with padding, got 9223372036854775811

// -----

func.func @f(%x: tensor<1x1x2000000000x1xf32>) {
  %y = npu.max_pool2d %x kernel [3, 1] pads [1, 0, 1, 0] : tensor<1x1x2000000000x1xf32> -> tensor<1x1x2000000001x1xf32>
  func.return
}
// CHECK: expected an output of shape [1, 1, 2000000000, 1], got [1, 1, 2000000001, 1]
