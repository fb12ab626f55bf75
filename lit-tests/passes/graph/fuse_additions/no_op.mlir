// RUN: npu-opt %s -p npu-fuse-additions | filecheck %s

// The map of the convolution is needed elsewhere.
// CHECK-LABEL: func.func @second_use
// CHECK: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.add %x, %c
// CHECK-NEXT: npu.relu %c
func.func @second_use(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) {
  %c = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %x, %c : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %o = npu.relu %c : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return
}

// Both summands are the convolution.
// CHECK-LABEL: func.func @itself
// CHECK: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.add %c, %c
func.func @itself(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) {
  %c = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %c, %c : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// A pooling window lies between.
// CHECK-LABEL: func.func @pooled
// CHECK: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.add %r, %c
func.func @pooled(%x: tensor<1x2x8x8xf32>, %r: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) {
  %c = npu.conv2d %x, %w then max_pool [2, 2] by [2, 2] : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %r, %c : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// Summands of other shapes.
// CHECK-LABEL: func.func @broadcast
// CHECK: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.add %r, %c
// CHECK-NEXT: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.add %d, %o
func.func @broadcast(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<2x1x1xf32>, %o: tensor<3x2x4x4xf32>) {
  %c = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %r, %c : (tensor<2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %t = npu.add %d, %o : (tensor<1x2x4x4xf32>, tensor<3x2x4x4xf32>) -> tensor<3x2x4x4xf32>
  func.return
}

// A parameter lies where nothing can be written.
// CHECK-LABEL: func.func @constant
// CHECK: arith.constant
// CHECK-NEXT: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.add %k, %c
func.func @constant(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) {
  %k = arith.constant dense<1.0> : tensor<1x2x4x4xf32>
  %c = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %k, %c : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// The sum has another element type than the convolution.
// CHECK-LABEL: func.func @element
// CHECK: npu.conv2d %x, %w strides
// CHECK-NEXT: npu.quantized_add %r, %c
func.func @element(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xui8>) {
  %c = npu.conv2d %x, %w zero_points [3, 0] then requantize scales [0.01] zero_point 3 mode float : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>) -> tensor<1x2x4x4xi8>
  %s = npu.quantized_add %r, %c scales [0.1, 0.2, 0.3] zero_points [3, 3, 0] mode float : (tensor<1x2x4x4xui8>, tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xui8>
  func.return
}

// A convolution adds once.
// CHECK-LABEL: func.func @two_additions
// CHECK: npu.conv2d %x, %w, %x strides [1, 1] pads [0, 0, 0, 0] then add residual first
// CHECK-NEXT: npu.add %x, %c
func.func @two_additions(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) {
  %c = npu.conv2d %x, %w, %x then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %x, %c : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// On buffers nothing is left to decide.
// CHECK-LABEL: func.func @buffers
// CHECK: npu.conv2d ins
// CHECK-NEXT: npu.add ins
func.func @buffers(%x: memref<1x2x4x4xf32>, %w: memref<2x2x1x1xf32>, %y: memref<1x2x4x4xf32>) {
  npu.conv2d ins(%x, %w : memref<1x2x4x4xf32>, memref<2x2x1x1xf32>) outs(%y : memref<1x2x4x4xf32>)
  npu.add ins(%x, %y : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>) outs(%x : memref<1x2x4x4xf32>)
  func.return
}
