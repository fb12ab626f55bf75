// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fold-batch-norm)' | filecheck %s

// CHECK-LABEL: func.func @unknown_parameters
// CHECK: npu.conv2d
// CHECK-NEXT: npu.batch_norm
func.func @unknown_parameters(%x: tensor<1x1x4x4xf32>, %p: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %n = npu.batch_norm %c, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %n : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @unknown_weights
// CHECK: npu.conv2d
// CHECK-NEXT: npu.batch_norm
func.func @unknown_weights(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %n = npu.batch_norm %c, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %n : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @activation_between
// CHECK: npu.conv2d {{.*}} then relu
// CHECK-NEXT: npu.batch_norm
func.func @activation_between(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %n = npu.batch_norm %c, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %n : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @pool_between
// CHECK: npu.conv2d {{.*}} then max_pool
// CHECK-NEXT: npu.batch_norm
func.func @pool_between(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then max_pool [2, 2] by [2, 2] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %n = npu.batch_norm %c, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %n : tensor<1x2x2x2xf32>
}

// CHECK-LABEL: func.func @second_use
// CHECK: npu.fully_connected
// CHECK-NEXT: npu.batch_norm
func.func @second_use(%x: tensor<1x3xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x3xf32>
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %f = npu.fully_connected %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %n = npu.batch_norm %f, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %f, %n : tensor<1x2xf32>, tensor<1x2xf32>
}

// CHECK-LABEL: func.func @alone
// CHECK: npu.batch_norm %x
func.func @alone(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %n = npu.batch_norm %x, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %n : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @read_in_between
// CHECK: npu.batch_norm %x
// CHECK-NEXT: npu.batch_norm
func.func @read_in_between(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %n = npu.batch_norm %x, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %m = npu.batch_norm %n, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %n, %m : tensor<1x2xf32>, tensor<1x2xf32>
}

// CHECK-LABEL: func.func @unknown_before
// CHECK: npu.batch_norm %x
// CHECK-NEXT: npu.batch_norm
func.func @unknown_before(%x: tensor<1x2xf32>, %q: tensor<2xf32>) -> tensor<1x2xf32> {
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %n = npu.batch_norm %x, %q, %p, %p, %p epsilon 0.1 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %m = npu.batch_norm %n, %p, %p, %p, %p epsilon 0.1 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %m : tensor<1x2xf32>
}
