// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='npu-prune-zero-blocks{where=all block-size=0}' | filecheck %s --check-prefix=ZERO
// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='npu-prune-zero-blocks{where=all block-size=16}' | filecheck %s --check-prefix=LARGE
// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='npu-prune-zero-blocks{where=all threshold=-0.5}' | filecheck %s --check-prefix=NEGATIVE

func.func @net(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32> {
  %a = npu.conv2d %x, %w then relu : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %b = npu.conv2d %a, %w : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  func.return %b : tensor<1x2x8x8xf32>
}
// ZERO: npu-prune-zero-blocks: expected a block-size of at least 1, got 0
// LARGE: npu-prune-zero-blocks: expected a block-size of at most 8, rows or columns of the largest map, got 16
// NEGATIVE: npu-prune-zero-blocks: expected a threshold of at least 0, got -0.5
