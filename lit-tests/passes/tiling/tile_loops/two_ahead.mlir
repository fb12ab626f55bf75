// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops,npu-double-buffer | filecheck %s --check-prefix=PARTS

// A start takes as long as the data of a tile. With three copies of what is loaded, it takes none of the bus's time.
// CHECK-LABEL: func.func @room
// CHECK: } {npu.double_buffer, npu.two_ahead}
// PARTS-LABEL: func.func @room
// PARTS: %x_tile = sram.alloc : memref<3x
// PARTS: scf.for {{.*}} iter_args
// PARTS-NOT: npu.two_ahead
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 32 : i64}>} {
  func.func @room(%x: memref<16x1x1x32xf32, #npu.dram>, %y: memref<16x1x1x32xf32, #npu.dram>) {
    npu.relu ins(%x : memref<16x1x1x32xf32, #npu.dram>) outs(%y : memref<16x1x1x32xf32, #npu.dram>)
    func.return
  }
}

// -----

// A PL-330 has one program for each transfer.
// CHECK-LABEL: func.func @microcode
// CHECK: } {npu.double_buffer}
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, dma_fifo_bytes = 1024 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 32 : i64}>} {
  func.func @microcode(%x: memref<16x1x1x32xf32, #npu.dram>, %y: memref<16x1x1x32xf32, #npu.dram>) {
    npu.relu ins(%x : memref<16x1x1x32xf32, #npu.dram>) outs(%y : memref<16x1x1x32xf32, #npu.dram>)
    func.return
  }
}

// -----

// The core is busy all the time: two copies are enough.
// CHECK-LABEL: func.func @busy
// CHECK: } {npu.double_buffer}
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 1 : i64}, sram_bytes_per_cycle = 1 : i64, dma_bytes_per_cycle = 64 : i64, dma_setup_cycles = 1 : i64}>} {
  func.func @busy(%x: memref<16x1x1x32xf32, #npu.dram>, %y: memref<16x1x1x32xf32, #npu.dram>) {
    npu.relu ins(%x : memref<16x1x1x32xf32, #npu.dram>) outs(%y : memref<16x1x1x32xf32, #npu.dram>)
    func.return
  }
}
