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
