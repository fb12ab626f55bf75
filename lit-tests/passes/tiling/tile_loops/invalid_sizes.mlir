// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{tile-sizes=4,8,2}' --verify-diagnostics | filecheck %s --check-prefix FEW
// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{tile-sizes=4,8,0,2}' --verify-diagnostics | filecheck %s --check-prefix ZERO
// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{tile-sizes=10,5,4,4}' --verify-diagnostics | filecheck %s --check-prefix LARGE
// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{block-size=0}' --verify-diagnostics | filecheck %s --check-prefix BLOCK

// FEW-LABEL: npu-tile-loops: expected tile-sizes to be rows, columns, in and out, each at least 1, got [4, 8, 2]
// ZERO-LABEL: npu-tile-loops: expected tile-sizes to be rows, columns, in and out, each at least 1, got [4, 8, 0, 2]
// BLOCK-LABEL: npu-tile-loops: expected a block-size of at least 1, got 0
// LARGE-LABEL: npu-tile-loops: c: a tile of [10, 5, 4, 4] needs 2176 bytes on chip, there are 1400 left
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @conv(%x: memref<1x4x10x5xf32, #npu.dram>, %w: memref<4x4x3x3xf32, #npu.dram>, %y: memref<1x4x10x5xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x4x10x5xf32, #npu.dram>, memref<4x4x3x3xf32, #npu.dram>) outs(%y : memref<1x4x10x5xf32, #npu.dram>) strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "c"}
    func.return
  }
}
