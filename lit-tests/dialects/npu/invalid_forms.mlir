// RUN: NPU_DIAGNOSTICS

func.func @f(%v: tensor<2x4xf32>) {
  "npu.relu"(%v) <{operandSegmentSizes = array<i32: 1, 0>}> : (tensor<2x4xf32>) -> ()
  func.return
}
// CHECK: expected either a tensor result or a destination buffer in outs(...)

// -----

func.func @f(%m: memref<2x4xf32>) {
  %y = "npu.relu"(%m, %m) <{operandSegmentSizes = array<i32: 1, 1>}> : (memref<2x4xf32>, memref<2x4xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected either a tensor result or a destination buffer in outs(...)

// -----

func.func @f(%v: tensor<2x4xf32>, %m: memref<2x4xf32>) {
  npu.relu ins(%v : tensor<2x4xf32>) outs(%m : memref<2x4xf32>)
  func.return
}
// CHECK: expected memref operands, got tensor<2x4xf32>

// -----

func.func @f(%m: memref<2x4xf32>) {
  %y = npu.relu %m : memref<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected tensor operands, got memref<2x4xf32>

// -----

func.func @f(%d: tensor<?x4xf32>) {
  %y = npu.relu %d : tensor<?x4xf32> -> tensor<?x4xf32>
  func.return
}
// CHECK: expected static shapes, got tensor<?x4xf32>

// -----

func.func @f(%d: tensor<4xindex>) {
  %y = npu.relu %d : tensor<4xindex> -> tensor<4xindex>
  func.return
}
// CHECK: expected float or integer elements, got index

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<4xi8>) {
  %y = npu.add %v, %w : (tensor<2x4xf32>, tensor<4xi8>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected operands with elements of type f32, got tensor<4xi8>

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.relu %v : tensor<2x4xf32> -> tensor<2x4xf16>
  func.return
}
// CHECK: expected operands with elements of type f16, got tensor<2x4xf32>

// -----

func.func @f(%s: f32) {
  %y = npu.relu %s : f32 -> tensor<1xf32>
  func.return
}
// CHECK: operand 'input' at position 0 does not verify

// -----

func.func @f(%m: memref<2x4xf32>) {
  npu.relu ins(%m : memref<2x4xf32>) outs(%m, %m : memref<2x4xf32>, memref<2x4xf32>)
  func.return
}
// CHECK: expected one destination in outs(...)

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.relu %v, %v : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected 1 input operands, got 2

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.fully_connected %v : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected 2-3 input operands, got 1

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.clamp %v high 0.0 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected `low`

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.clamp %v low a high 0.0 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: integer or float literal expected

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.concat %v : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected `axis`

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then smooth : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected an activation, or one pooling window after it

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then max_pool [2, 2] by [2, 2] then relu : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected an activation, or one pooling window after it

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w then clamp [1.0, 0.0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected clamp bounds low <= high, got [1.0, 0.0]

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<3x4xf32>) {
  %y = npu.fully_connected %v, %w then max_pool [1, 1] by [1, 1] : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: expected no pooling window behind a fully connected layer

// -----

"test.op"() {a = #npu.activation<tanh>} : () -> ()
// CHECK: expected `relu` or `clamp [low, high]`

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w accumulate : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}
// CHECK: expected accumulate only where a destination buffer holds sums

// -----

func.func @f(%x: memref<2x4xf32>, %m: memref<3x4xf32>, %b: memref<3xf32>, %y: memref<2x3xf32>) {
  npu.fully_connected ins(%x, %m, %b : memref<2x4xf32>, memref<3x4xf32>, memref<3xf32>) outs(%y : memref<2x3xf32>) accumulate
  func.return
}
// CHECK: expected no bias beside accumulate: sums have one start

// -----

func.func @f(%x: memref<1x4x9x9xf32>, %w: memref<8x4x3x3xf32>, %y: memref<1x8x3x3xf32>) {
  npu.conv2d ins(%x, %w : memref<1x4x9x9xf32>, memref<8x4x3x3xf32>) outs(%y : memref<1x8x3x3xf32>) accumulate then max_pool [2, 2] by [2, 2]
  func.return
}
// CHECK: expected no pooling window behind sums that accumulate
