// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool)' | filecheck %s

// Each value that a fusion would swallow is needed elsewhere.
// CHECK-LABEL: func.func @second_use
// CHECK: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] :
// CHECK-NEXT: npu.relu
// CHECK-NEXT: npu.add
func.func @second_use(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = npu.relu %c : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %s = npu.add %r, %c : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %s : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @returned
// CHECK: npu.fully_connected %x, %w :
// CHECK-NEXT: npu.relu
func.func @returned(%x: tensor<1x4xf32>, %w: tensor<3x4xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %f = npu.fully_connected %x, %w : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<1x3xf32>
  %r = npu.relu %f : tensor<1x3xf32> -> tensor<1x3xf32>
  func.return %f, %r : tensor<1x3xf32>, tensor<1x3xf32>
}

// An average of clamped values is not the clamped average.
// CHECK-LABEL: func.func @activation_behind_average
// CHECK: npu.conv2d {{.*}} then avg_pool [2, 2] by [2, 2] :
// CHECK-NEXT: npu.relu
func.func @activation_behind_average(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %p = npu.avg_pool2d %c kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %r = npu.relu %p : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  func.return %r : tensor<1x2x2x2xf32>
}

// CHECK-LABEL: func.func @second_pool
// CHECK: npu.conv2d {{.*}} then max_pool [2, 2] by [2, 2] :
// CHECK-NEXT: npu.max_pool2d
func.func @second_pool(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x1x1xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %q = npu.max_pool2d %p kernel [2, 2] strides [2, 2] : tensor<1x2x2x2xf32> -> tensor<1x2x1x1xf32>
  func.return %q : tensor<1x2x1x1xf32>
}

// On buffers it is too late: the map exists.
// CHECK-LABEL: func.func @buffers
// CHECK: npu.conv2d ins{{.*}} pads [0, 0, 0, 0]
// CHECK-NEXT: npu.relu ins
func.func @buffers(%x: memref<1x1x4x4xf32>, %w: memref<2x1x1x1xf32>, %c: memref<1x2x4x4xf32>) {
  npu.conv2d ins(%x, %w : memref<1x1x4x4xf32>, memref<2x1x1x1xf32>) outs(%c : memref<1x2x4x4xf32>) strides [1, 1] pads [0, 0, 0, 0]
  npu.relu ins(%c : memref<1x2x4x4xf32>) outs(%c : memref<1x2x4x4xf32>)
  func.return
}

// Layers of other dialects, and activations behind other layers, stay what they are.
// CHECK-LABEL: func.func @others
// CHECK: "test.op"(
// CHECK-NEXT: npu.relu
// CHECK-NEXT: npu.relu
func.func @others(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = npu.relu %f : tensor<4xf32> -> tensor<4xf32>
  %s = npu.relu %r : tensor<4xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
