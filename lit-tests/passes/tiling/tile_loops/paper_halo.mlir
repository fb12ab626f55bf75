// RUN: npu-opt %s --pass-pipeline='npu-tile-loops{model=paper loop-order=paper divisors-only=true stationary=double-buffered minimize=cost}' --verify-diagnostics | filecheck %s

// The model as printed does not store the halo.

// CHECK-LABEL: npu-tile-loops: c: the tile of the paper's model needs 708 bytes with its halo, there are 655 left
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 655 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, dma_element = 1 : i64}>} {
  func.func @conv(%x: memref<1x1x16x16xf32, #npu.dram>, %w: memref<1x1x7x7xf32, #npu.dram>, %y: memref<1x1x16x16xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x1x16x16xf32, #npu.dram>, memref<1x1x7x7xf32, #npu.dram>) outs(%y : memref<1x1x16x16xf32, #npu.dram>) strides [1, 1] pads [3, 3, 3, 3] {npu.layer = "c"}
    func.return
  }
}
