// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool)' | filecheck %s

// The layer keeps the first name, the value takes the last one; 28x28 appears nowhere.
// CHECK-LABEL: func.func @conv_relu_max_pool
// CHECK-NOT: 28x28
// CHECK: [[Y:%\w+]] = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2] {npu.layer = "c1", npu.value = "p1_out"}
// CHECK-SAME: -> tensor<1x6x14x14xf32>
// CHECK-NEXT: func.return [[Y]]
func.func @conv_relu_max_pool(%x: tensor<1x1x32x32xf32>, %w: tensor<6x1x5x5xf32>, %b: tensor<6xf32>) -> tensor<1x6x14x14xf32> {
  %c = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "c1", npu.value = "c1_out"} : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<1x6x28x28xf32>
  %r = npu.relu %c {npu.layer = "r1", npu.value = "r1_out"} : tensor<1x6x28x28xf32> -> tensor<1x6x28x28xf32>
  %p = npu.max_pool2d %r kernel [2, 2] strides [2, 2] {npu.layer = "p1", npu.value = "p1_out"} : tensor<1x6x28x28xf32> -> tensor<1x6x14x14xf32>
  func.return %p : tensor<1x6x14x14xf32>
}

// A max pool and an activation commute.
// CHECK-LABEL: func.func @conv_max_pool_relu
// CHECK: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2] padded [0, 0, 1, 1] :
// CHECK-NEXT: func.return
func.func @conv_max_pool_relu(%x: tensor<1x1x7x7xf32>, %w: tensor<2x1x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x7x7xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x5x5xf32>
  %p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] pads [0, 0, 1, 1] : tensor<1x2x5x5xf32> -> tensor<1x2x3x3xf32>
  %r = npu.relu %p : tensor<1x2x3x3xf32> -> tensor<1x2x3x3xf32>
  func.return %r : tensor<1x2x3x3xf32>
}

// Activations in a row are one: 0..inf, then -1..6, then 7..8 is the constant 7.
// CHECK-LABEL: func.func @activations
// CHECK: npu.conv2d %x, %w strides [1, 1] pads [1, 1, 1, 1] then clamp [0.0, 6.0] :
// CHECK: npu.conv2d {{%\w+}}, %w strides [1, 1] pads [1, 1, 1, 1] then clamp [7.0, 7.0] :
// CHECK-NEXT: func.return
func.func @activations(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [1, 1, 1, 1] : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %r = npu.relu %c : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %l = npu.clamp %r low -1.0 high 6.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %d = npu.conv2d %l, %w strides [1, 1] pads [1, 1, 1, 1] then clamp [-1.0, 6.0] : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %m = npu.clamp %d low 7.0 high 8.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %m : tensor<1x2x4x4xf32>
}

// An average and a global pool are windows, too.
// CHECK-LABEL: func.func @averages
// CHECK: npu.conv2d %x, %w strides [2, 2] pads [0, 0, 0, 0] then clamp [0.0, 6.0] then avg_pool [2, 1] by [2, 1] count_include_pad :
// CHECK: npu.conv2d {{%\w+}}, %v strides [1, 1] pads [0, 0, 0, 0] then avg_pool [2, 4] by [2, 4] :
// CHECK-NEXT: func.return
func.func @averages(%x: tensor<1x1x8x8xf32>, %w: tensor<2x1x1x1xf32>, %v: tensor<3x2x1x1xf32>) -> tensor<1x3x1x1xf32> {
  %c = npu.conv2d %x, %w strides [2, 2] pads [0, 0, 0, 0] : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %l = npu.clamp %c low 0.0 high 6.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %a = npu.avg_pool2d %l kernel [2, 1] strides [2, 1] count_include_pad : tensor<1x2x4x4xf32> -> tensor<1x2x2x4xf32>
  %d = npu.conv2d %a, %v strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x2x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x2x4xf32>
  %g = npu.global_avg_pool2d %d : tensor<1x3x2x4xf32> -> tensor<1x3x1x1xf32>
  func.return %g : tensor<1x3x1x1xf32>
}

// CHECK-LABEL: func.func @fully_connected
// CHECK: npu.fully_connected %x, %w, %b then relu {npu.layer = "f1", npu.value = "r1_out"} :
// CHECK-NEXT: func.return
func.func @fully_connected(%x: tensor<1x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<1x3xf32> {
  %f = npu.fully_connected %x, %w, %b {npu.layer = "f1", npu.value = "f1_out"} : (tensor<1x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %r = npu.relu %f {npu.layer = "r1", npu.value = "r1_out"} : tensor<1x3xf32> -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// A value without a name does not keep the name of another one.
// CHECK-LABEL: func.func @unnamed_value
// CHECK: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "c1"} :
func.func @unnamed_value(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "c1", npu.value = "c1_out"} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = npu.relu %c : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %r : tensor<1x2x4x4xf32>
}
