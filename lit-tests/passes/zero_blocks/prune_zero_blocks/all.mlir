// RUN: npu-opt %s --pass-pipeline='npu-prune-zero-blocks{where=all block-size=4 threshold=0.25}' | filecheck %s

// CHECK-LABEL: func.func @net
func.func @net(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32> {
  // CHECK: %a = npu.conv2d %x, %w
  // CHECK-NEXT: %a_pruned = npu.prune_zero_blocks %a block 4 threshold 0.25 {npu.layer = "c1_zero_blocks"}
  %a = npu.conv2d %x, %w then relu {npu.layer = "c1"} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %b = npu.conv2d %a_pruned, %w
  // A layer without a ReLU is left alone.
  // CHECK-NEXT: %c = npu.relu %b
  %b = npu.conv2d %a, %w : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %c = npu.relu %b : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  // What is pruned already stays, and what nobody else reads.
  // CHECK-NEXT: %d = npu.prune_zero_blocks %c block 2 threshold 0.5
  // CHECK-NEXT: %e = npu.clamp %d low 0.0 high 6.0
  // CHECK-NEXT: func.return %e
  %d = npu.prune_zero_blocks %c block 2 threshold 0.5 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  %e = npu.clamp %d low 0.0 high 6.0 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  func.return %e : tensor<1x2x8x8xf32>
}

// The sum is what counts: its ReLU, and not one in front of it.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32> {
  // CHECK: %a = npu.conv2d
  // CHECK-NEXT: %b = npu.conv2d %a, %w
  // CHECK-NEXT: %b_pruned = npu.prune_zero_blocks %b
  %a = npu.conv2d %x, %w, %x then relu then add residual first : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %b = npu.conv2d %a, %w, %a then add residual first then relu : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %c = npu.add %b, %x : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  func.return %c : tensor<1x2x8x8xf32>
}
// Integers whose layer says what they mean, and integers whose layer does not.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<1x2x8x8xi8>, %w: tensor<2x2x1x1xi8>) -> tensor<1x2x8x8xi8> {
  // CHECK: %a = npu.conv2d
  // CHECK-NEXT: %a_pruned = npu.prune_zero_blocks %a block 4 threshold 0.25 scale 0.5 zero_point -128
  // CHECK-NEXT: %b = npu.conv2d
  // CHECK-NEXT: %c = npu.conv2d
  %a = npu.conv2d %x, %w zero_points [0, 0] then requantize scales [0.5] zero_point -128 mode float {npu.scale = 0.5 : f32, npu.zero_point = -128 : i64} : (tensor<1x2x8x8xi8>, tensor<2x2x1x1xi8>) -> tensor<1x2x8x8xi8>
  %b = npu.conv2d %a, %w zero_points [-128, 0] then requantize scales [0.5] zero_point -128 mode float : (tensor<1x2x8x8xi8>, tensor<2x2x1x1xi8>) -> tensor<1x2x8x8xi8>
  %c = npu.conv2d %b, %w zero_points [-128, 0] then requantize scales [0.5] zero_point 0 mode float {npu.scale = 0.5 : f32, npu.zero_point = 0 : i64} : (tensor<1x2x8x8xi8>, tensor<2x2x1x1xi8>) -> tensor<1x2x8x8xi8>
  // CHECK-NEXT: npu.max_pool2d %c
  %d = npu.max_pool2d %c kernel [1, 1] strides [1, 1] : tensor<1x2x8x8xi8> -> tensor<1x2x8x8xi8>
  func.return %d : tensor<1x2x8x8xi8>
}
