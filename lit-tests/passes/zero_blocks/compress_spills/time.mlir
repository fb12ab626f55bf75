// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-compress-spills{block-size=4}' | filecheck %s

// A byte takes 4 cycles on the bus, and 1 of the core in blocks: with the index, blocks pay from 1/4 + 1/128 on.
// CHECK-LABEL: func.func @pays
// CHECK: %map_index = dram.alloc
// CHECK-LABEL: func.func @loses
// CHECK: dram.alloc {npu.not_compressed = "blocks save time from 25.8 % of zero blocks on: they take the core 1 cycles an element"}
// CHECK-LABEL: func.func @unknown
// CHECK: %map_index = dram.alloc
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 0.25 : f64, block_cycles = {f32 = 99 : i64, i8 = 1 : i64}}>} {
  func.func @pays(%tile: memref<1x1x4x4xi8, #npu.sram>) {
    %map = dram.alloc : memref<1x1x4x4xi8, #npu.dram>
    npu.quantized_add ins(%tile, %tile : memref<1x1x4x4xi8, #npu.sram>, memref<1x1x4x4xi8, #npu.sram>) outs(%tile : memref<1x1x4x4xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float {npu.zero_blocks = 0.258 : f64}
    %s = dma.start %tile to %map channel 1 : memref<1x1x4x4xi8, #npu.sram> to memref<1x1x4x4xi8, #npu.dram>
    dma.wait %s
    func.return
  }
  func.func @loses(%tile: memref<1x1x4x4xi8, #npu.sram>) {
    %map = dram.alloc : memref<1x1x4x4xi8, #npu.dram>
    npu.quantized_add ins(%tile, %tile : memref<1x1x4x4xi8, #npu.sram>, memref<1x1x4x4xi8, #npu.sram>) outs(%tile : memref<1x1x4x4xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float {npu.zero_blocks = 0.257 : f64}
    %s = dma.start %tile to %map channel 1 : memref<1x1x4x4xi8, #npu.sram> to memref<1x1x4x4xi8, #npu.dram>
    dma.wait %s
    func.return
  }
  func.func @unknown(%tile: memref<1x1x4x4xi8, #npu.sram>) {
    %map = dram.alloc : memref<1x1x4x4xi8, #npu.dram>
    npu.quantized_add ins(%tile, %tile : memref<1x1x4x4xi8, #npu.sram>, memref<1x1x4x4xi8, #npu.sram>) outs(%tile : memref<1x1x4x4xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float
    %s = dma.start %tile to %map channel 1 : memref<1x1x4x4xi8, #npu.sram> to memref<1x1x4x4xi8, #npu.dram>
    dma.wait %s
    func.return
  }
}

// -----

// A float takes a quarter of a cycle on the bus: that never pays for 8 cycles of the core.
// CHECK-LABEL: func.func @never
// CHECK: dram.alloc {npu.not_compressed = "blocks never save time: they take the core 8 cycles an element"}
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 16 : i64, block_cycles = {f32 = 8 : i64}}>} {
  func.func @never(%tile: memref<1x1x4x4xf32, #npu.sram>) {
    %map = dram.alloc : memref<1x1x4x4xf32, #npu.dram>
    %s = dma.start %tile to %map channel 1 : memref<1x1x4x4xf32, #npu.sram> to memref<1x1x4x4xf32, #npu.dram>
    dma.wait %s
    func.return
  }
}
