// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-tails' | filecheck %s

// The pool runs with its convolution, and reads %x last.
// CHECK-LABEL: func.func @pool_last
// CHECK: %a = npu.conv2d %x, %w
// CHECK: %b = npu.rows of %x attributes {npu.consumes}
// CHECK-NEXT: npu.avg_pool2d %x
// CHECK-SAME: npu.ring = 1
// CHECK-NEXT: npu.conv2d
// CHECK-NEXT: npu.yield
// CHECK: npu.concat %a, %b
func.func @pool_last(%x : tensor<1x8x6x6xf32>, %w : tensor<4x8x1x1xf32>) -> tensor<1x8x6x6xf32> {
  %a = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %p = npu.avg_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] count_include_pad : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %p, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x8x6x6xf32>
  func.return %y : tensor<1x8x6x6xf32>
}

// -----

// The convolution reads %x last; the pool, in front of it, takes nobody's place.
// CHECK-LABEL: func.func @pointwise_last
// CHECK: npu.rows of %x : tensor
// CHECK-NEXT: npu.avg_pool2d
// CHECK: %a = npu.rows of %x attributes {npu.consumes}
// CHECK-NEXT: npu.conv2d %x, %w
// CHECK-NEXT: npu.yield
func.func @pointwise_last(%x : tensor<1x8x6x6xf32>, %w : tensor<4x8x1x1xf32>) -> tensor<1x8x6x6xf32> {
  %p = npu.avg_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] count_include_pad : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %p, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %a = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x8x6x6xf32>
  func.return %y : tensor<1x8x6x6xf32>
}

// -----

// An average that does not count its padding has no rows; a middle part has no end to grow from;
// a map with one reader is nobody's but his.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: npu.rows
func.func @left_alone(%x : tensor<1x8x6x6xf32>, %w : tensor<4x8x1x1xf32>) -> tensor<1x12x6x6xf32> {
  %w2 = arith.constant dense<1.0> : tensor<4x4x1x1xf32>
  %p = npu.avg_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %a = npu.conv2d %p, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %b = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %c = npu.conv2d %a, %w2 : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %y = npu.concat %a, %b, %c axis 1 : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x12x6x6xf32>
  func.return %y : tensor<1x12x6x6xf32>
}

// -----

// Rows that are put behind rows are no channels of one image: no part takes the place of %x.
// CHECK-LABEL: func.func @other_axis
// CHECK-NOT: npu.consumes
func.func @other_axis(%x : tensor<1x8x6x6xf32>, %w : tensor<8x8x1x1xf32>) -> tensor<1x8x12x6xf32> {
  %a = npu.relu %x : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x6x6xf32>
  %y = npu.concat %a, %b axis 2 : (tensor<1x8x6x6xf32>, tensor<1x8x6x6xf32>) -> tensor<1x8x12x6xf32>
  func.return %y : tensor<1x8x12x6xf32>
}
