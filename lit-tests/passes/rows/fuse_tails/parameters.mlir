// RUN: npu-opt %s --pass-pipeline='npu-fuse-tails' | filecheck %s

// Where parameters have to be fetched they lie on chip while rows are computed: that pays if they
// take less than the place that is won, and than a quarter of the SRAM (1024 bytes here).

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {

// 4 filters of 8 channels take 128 bytes, the part 576.
// CHECK-LABEL: func.func @pays
// CHECK: npu.rows of %x attributes {npu.consumes}
func.func @pays(%x : tensor<1x8x6x6xf32>, %w : tensor<4x8x1x1xf32>) -> tensor<1x12x6x6xf32> {
  %a = npu.relu %x : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x8x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x12x6x6xf32>
  func.return %y : tensor<1x12x6x6xf32>
}

// The part takes 16 bytes.
// CHECK-LABEL: func.func @wins_little
// CHECK-NOT: npu.consumes
func.func @wins_little(%x : tensor<1x8x1x1xf32>, %w : tensor<4x8x1x1xf32>) -> tensor<1x12x1x1xf32> {
  %a = npu.relu %x : tensor<1x8x1x1xf32> -> tensor<1x8x1x1xf32>
  %b = npu.conv2d %x, %w : (tensor<1x8x1x1xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x1x1xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x8x1x1xf32>, tensor<1x4x1x1xf32>) -> tensor<1x12x1x1xf32>
  func.return %y : tensor<1x12x1x1xf32>
}

// 40 filters take 1280 bytes, the part 5760.
// CHECK-LABEL: func.func @takes_much
// CHECK-NOT: npu.consumes
func.func @takes_much(%x : tensor<1x8x6x6xf32>, %w : tensor<40x8x1x1xf32>) -> tensor<1x48x6x6xf32> {
  %a = npu.relu %x : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<40x8x1x1xf32>) -> tensor<1x40x6x6xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x8x6x6xf32>, tensor<1x40x6x6xf32>) -> tensor<1x48x6x6xf32>
  func.return %y : tensor<1x48x6x6xf32>
}
}
