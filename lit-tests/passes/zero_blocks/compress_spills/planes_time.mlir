// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-compress-spills{block-size=4}' | filecheck %s

// A byte takes 4 cycles on the bus. As bit planes 0.53125 bytes move: they save 1.875 cycles, and
// blocks 0.4 * 4 without the index.

// CHECK-LABEL: func.func @quick
// CHECK: planes blocks 16 zero -128
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 0.25 : f64, block_cycles = {i8 = 1 : i64}, plane_cycles = 1.25 : f64}>} {
func.func @quick(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.5 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}
}

// -----

// CHECK-LABEL: func.func @slow
// CHECK: dma.start %tile to %map channel 3 blocks 4 zero -128
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 0.25 : f64, block_cycles = {i8 = 1 : i64}, plane_cycles = 1.5 : f64}>} {
func.func @slow(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.5 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}
}

// -----

// CHECK-LABEL: func.func @neither
// CHECK: dram.alloc {npu.not_compressed = "blocks save time from 50.8 % of zero blocks on: they take the core 2 cycles an element"}
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 0.25 : f64, block_cycles = {i8 = 2 : i64}, plane_cycles = 2 : i64}>} {
func.func @neither(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.5 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}
}

// -----

// A core that moves blocks, and does not know bit planes.
// CHECK-LABEL: func.func @unable
// CHECK: dma.start %tile to %map channel 3 blocks 4 zero -128
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 0.25 : f64, block_cycles = {i8 = 1 : i64}}>} {
func.func @unable(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.5 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}
}

// -----

// The engine does both by itself: only bytes count.
// CHECK-LABEL: func.func @engine
// CHECK: planes blocks 16 zero -128
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, dma_bytes_per_cycle = 0.25 : f64}>} {
func.func @engine(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.5 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}
}
