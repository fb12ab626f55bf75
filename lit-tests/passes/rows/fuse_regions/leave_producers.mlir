// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-regions{when=needed}' | filecheck %s --check-prefix=ALL
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-regions{when=needed leave-producers=true}' | filecheck %s

// A relu and a depthwise convolution in front of a 1x1 convolution, whose maps do not fit on chip: npu-tile-loops runs the two on the tiles
// of the third one.
// ALL-LABEL: func.func @left
// ALL: npu.rows
// CHECK-LABEL: func.func @left
// CHECK-NOT: npu.rows
// CHECK: return
module attributes {npu.target = #npu.target<"dma", {sram_bytes = 12800 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @left(%x : tensor<1x64x8x8xf32>, %k : tensor<64x1x3x3xf32>, %w : tensor<64x64x1x1xf32>) -> tensor<1x64x8x8xf32> {
    %0 = npu.relu %x : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %1 = npu.conv2d %0, %k pads [1, 1, 1, 1] groups 64 : (tensor<1x64x8x8xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x8x8xf32>
    %2 = npu.conv2d %1, %w : (tensor<1x64x8x8xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x8x8xf32>
    func.return %2 : tensor<1x64x8x8xf32>
  }
}

// -----

// Not left: the sums of a quantised convolution cannot wait for other channels, so its tiles have no whole maps.
// CHECK-LABEL: func.func @quantised
// CHECK: npu.rows
module attributes {npu.target = #npu.target<"dma", {sram_bytes = 3200 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @quantised(%x : tensor<1x64x8x8xi8>, %k : tensor<64x1x3x3xi8>, %w : tensor<64x64x1x1xi8>) -> tensor<1x64x8x8xi8> {
    %0 = npu.relu %x : tensor<1x64x8x8xi8> -> tensor<1x64x8x8xi8>
    %1 = npu.conv2d %0, %k pads [1, 1, 1, 1] groups 64 zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float : (tensor<1x64x8x8xi8>, tensor<64x1x3x3xi8>) -> tensor<1x64x8x8xi8>
    %2 = npu.conv2d %1, %w zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float : (tensor<1x64x8x8xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x8x8xi8>
    func.return %2 : tensor<1x64x8x8xi8>
  }
}

// -----

// Not left: half of the sums need more than two thirds of the memory.
// CHECK-LABEL: func.func @large
// CHECK: npu.rows
module attributes {npu.target = #npu.target<"dma", {sram_bytes = 12800 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @large(%x : tensor<1x64x8x8xf32>, %k : tensor<64x1x3x3xf32>, %w : tensor<128x64x1x1xf32>) -> tensor<1x128x8x8xf32> {
    %0 = npu.relu %x : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32>
    %1 = npu.conv2d %0, %k pads [1, 1, 1, 1] groups 64 : (tensor<1x64x8x8xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x8x8xf32>
    %2 = npu.conv2d %1, %w : (tensor<1x64x8x8xf32>, tensor<128x64x1x1xf32>) -> tensor<1x128x8x8xf32>
    func.return %2 : tensor<1x128x8x8xf32>
  }
}
