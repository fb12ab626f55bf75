// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='npu-tile-loops{block-size=0}' | filecheck %s

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @net(%x: memref<1x8x8x8xf32, #npu.dram>, %y: memref<1x8x8x8xf32, #npu.dram>) {
    npu.relu ins(%x : memref<1x8x8x8xf32, #npu.dram>) outs(%y : memref<1x8x8x8xf32, #npu.dram>)
    func.return
  }
}
// CHECK: npu-tile-loops: expected a block-size of at least 1, got 0
