// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops,npu-double-buffer | filecheck %s --check-prefix=PARTS

// Tiles that are fetched, added to and sent back. With three parts of a tile, none of it is waited for; there are
// 5 tiles of 256 bytes on chip.
// CHECK-LABEL: func.func @room
// CHECK: on_chip = 1280
// CHECK: } {npu.double_buffer, npu.late_sums}
// PARTS-LABEL: func.func @room
// PARTS: %r_tile = sram.alloc : memref<3x4x1x16xf32, #npu.sram>
// PARTS-NOT: npu.late_sums
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 1 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 4 : i64}>} {
  func.func @room(%x: memref<1x4x16x16xf32, #npu.dram>, %r: memref<1x4x16x16xf32, #npu.dram>) {
    npu.add ins(%x, %r : memref<1x4x16x16xf32, #npu.dram>, memref<1x4x16x16xf32, #npu.dram>) outs(%r : memref<1x4x16x16xf32, #npu.dram>)
    func.return
  }
}

// -----

// Without room for the third part, there are two. Smaller tiles have room for three, but each transfer takes 200 cycles
// to start.
// CHECK-LABEL: func.func @no_room
// CHECK: on_chip = 256
// CHECK: } {npu.double_buffer}
// PARTS-LABEL: func.func @no_room
// PARTS: %r_tile = sram.alloc : memref<2x1x1x16xf32, #npu.sram>
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 319 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 1 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 200 : i64}>} {
  func.func @no_room(%x: memref<1x1x16x16xf32, #npu.dram>, %r: memref<1x1x16x16xf32, #npu.dram>) {
    npu.add ins(%x, %r : memref<1x1x16x16xf32, #npu.dram>, memref<1x1x16x16xf32, #npu.dram>) outs(%r : memref<1x1x16x16xf32, #npu.dram>)
    func.return
  }
}

// -----

// Where the transfers take all of the time, a store that is waited for costs nothing. Of tiles that are as fast, those
// are taken of which the least moves while nothing computes.
// CHECK-LABEL: func.func @slow_bus
// CHECK: on_chip = 1280
// CHECK: } {npu.double_buffer, npu.late_sums}
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 4 : i64}>} {
  func.func @slow_bus(%x: memref<1x4x16x16xf32, #npu.dram>, %r: memref<1x4x16x16xf32, #npu.dram>) {
    npu.add ins(%x, %r : memref<1x4x16x16xf32, #npu.dram>, memref<1x4x16x16xf32, #npu.dram>) outs(%r : memref<1x4x16x16xf32, #npu.dram>)
    func.return
  }
}
