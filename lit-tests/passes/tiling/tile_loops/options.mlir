// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{tile-sizes=4,8,2,2}' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{double-buffer=false}' | filecheck %s --check-prefix SINGLE
// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{loop-order=paper divisors-only=true stationary=double-buffered}' | filecheck %s --check-prefix PAPER

// Sizes by hand are cut off at the layer's own (8 columns are 5), and come in the paper's order.

// CHECK-LABEL: func.func @conv
// CHECK: sizes = {images = 1 : i64, groups = 1 : i64, rows = 4 : i64, columns = 5 : i64, in = 2 : i64, out = 2 : i64}, order = "rows in out"
// SINGLE-LABEL: func.func @conv
// SINGLE-NOT: npu.double_buffer
// PAPER-LABEL: func.func @conv
// PAPER: order = "rows in"
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @conv(%x: memref<1x4x10x5xf32, #npu.dram>, %w: memref<4x4x3x3xf32, #npu.dram>, %y: memref<1x4x10x5xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x4x10x5xf32, #npu.dram>, memref<4x4x3x3xf32, #npu.dram>) outs(%y : memref<1x4x10x5xf32, #npu.dram>) strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "c"}
    func.return
  }
}
