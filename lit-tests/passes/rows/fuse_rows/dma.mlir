// RUN: npu-opt %s --pass-pipeline=npu-fuse-rows | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-rows{sram-bytes=7000}' | filecheck %s --check-prefix=SMALL
// RUN: npu-opt %s --pass-pipeline='npu-fuse-rows{sram-bytes=1600}' | filecheck %s --check-prefix=TINY

// A machine with DMA and 4 KB. The image needs its rows only, 3 of 12, and the map behind it 3 of 10, for each of
// 8 channels. With 8x8x8 floats of output and all parameters that is 3.4 KB. The whole map between the layers takes
// patches of 4x4, 12x12 floats a channel, which is 4.6 KB: two layers by themselves would move it.

builtin.module attributes {npu.target = #npu.target<"exynos-npu", {sram_bytes = 4096 : i64, flash_bytes = 1073741824 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, kernel_group = 16 : i64, dma_channels = 4 : i64}>} {

// CHECK-LABEL: func.func @fits_by_rows
// CHECK:       npu.rows of %image
// CHECK-NEXT:    npu.conv2d {{.*}} {npu.ring = 3 : i64}
// CHECK-NEXT:    npu.max_pool2d
// CHECK:       npu.global_avg_pool2d

// In 7000 bytes they fit by themselves; in 1600 not even by rows.
// SMALL-LABEL: func.func @fits_by_rows
// SMALL-NOT:   npu.rows
// SMALL:       func.func @fits_alone
// TINY-LABEL:  func.func @fits_by_rows
// TINY-NOT:    npu.rows
// TINY:        func.func @fits_alone
func.func @fits_by_rows(%image: tensor<1x1x12x12xf32>) -> tensor<1x8x1x1xf32> {
  %w = arith.constant dense<0.5> : tensor<8x1x3x3xf32>
  %0 = npu.conv2d %image, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x12x12xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32>
  %1 = npu.max_pool2d %0 kernel [3, 3] strides [1, 1] : tensor<1x8x10x10xf32> -> tensor<1x8x8x8xf32>
  %2 = npu.global_avg_pool2d %1 : tensor<1x8x8x8xf32> -> tensor<1x8x1x1xf32>
  func.return %2 : tensor<1x8x1x1xf32>
}

// Nothing is fused where everything fits; nor a layer by itself.

// CHECK-LABEL: func.func @fits_alone
// CHECK-NOT:   npu.rows
func.func @fits_alone(%image: tensor<1x1x12x12xf32>, %large: tensor<1x1x64x64xf32>) -> (tensor<1x1x10x10xf32>, tensor<1x1x1x1xf32>) {
  %w = arith.constant dense<0.5> : tensor<1x1x3x3xf32>
  %0 = npu.conv2d %image, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x12x12xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x10x10xf32>
  %1 = npu.max_pool2d %0 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x10x10xf32> -> tensor<1x1x10x10xf32>
  %2 = npu.relu %large : tensor<1x1x64x64xf32> -> tensor<1x1x64x64xf32>
  %3 = npu.global_avg_pool2d %2 : tensor<1x1x64x64xf32> -> tensor<1x1x1x1xf32>
  func.return %1, %3 : tensor<1x1x10x10xf32>, tensor<1x1x1x1xf32>
}

}
