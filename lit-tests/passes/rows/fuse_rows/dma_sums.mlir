// RUN: npu-opt %s --pass-pipeline=npu-fuse-rows | filecheck %s

// On a machine with DMA, a sum of two maps ends a chain: the convolution in front of it may take it
// in later and overwrite the shortcut. So the sum is no part of a run, also where its layers move less
// together.
builtin.module attributes {npu.target = #npu.target<"exynos-npu", {sram_bytes = 4096 : i64, flash_bytes = 1073741824 : i64, dma_channels = 2 : i64}>} {

// CHECK-LABEL: func.func @residual
// CHECK:       npu.rows
// CHECK:         npu.yield
// CHECK:       }
// CHECK-NEXT:  npu.add
func.func @residual(%image: tensor<1x1x12x12xf32>, %x: tensor<1x4x10x10xf32>) -> tensor<1x4x1x1xf32> {
  %w = arith.constant dense<0.5> : tensor<8x1x3x3xf32>
  %u = arith.constant dense<0.5> : tensor<4x8x1x1xf32>
  %0 = npu.conv2d %image, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x12x12xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32>
  %1 = npu.conv2d %0, %u strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x10x10xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x10x10xf32>
  %2 = npu.add %1, %x : (tensor<1x4x10x10xf32>, tensor<1x4x10x10xf32>) -> tensor<1x4x10x10xf32>
  %3 = npu.global_avg_pool2d %2 : tensor<1x4x10x10xf32> -> tensor<1x4x1x1xf32>
  func.return %3 : tensor<1x4x1x1xf32>
}
}
