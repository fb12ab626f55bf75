// RUN: npu-opt %s --pass-pipeline=npu-tile-loops{minimize=time} | filecheck %s
// RUN: npu-opt %s --pass-pipeline=npu-tile-loops | filecheck %s --check-prefix=BYTES

// A jump takes as long as 4 bytes, and between two pixels lies one: whole rows come on chip, and bytes rise.
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 320 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {i8 = 1 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 4 : i64}>} {
  // CHECK-LABEL: func.func @strided
  // CHECK: memref.subview %x[0, 0, 0, 0] [1, 4, 4, 7] [1, 1, 2, 1] : memref<1x4x8x8xi8, #npu.dram> to memref<1x4x4x7xi8, strided<[256, 64, 16, 1]>, #npu.dram>
  // CHECK: npu.conv2d {{.*}} strides [1, 2] pads [0, 0, 0, 0] {{.*}} columns = 4 : i64, {{.*}} bytes = 272 : i64
  // BYTES-LABEL: func.func @strided
  // BYTES: memref.subview %x[0, 0, 0, 0] [1, 4, 4, 4] [1, 1, 2, 2]
  // BYTES: npu.conv2d {{.*}} strides [1, 1] pads [0, 0, 0, 0] {{.*}} columns = 4 : i64, {{.*}} bytes = 224 : i64
  func.func @strided(%x: memref<1x4x8x8xi8, #npu.dram>, %w: memref<8x4x1x1xi8, #npu.dram>, %y: memref<1x8x4x4xi8, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x4x8x8xi8, #npu.dram>, memref<8x4x1x1xi8, #npu.dram>) outs(%y : memref<1x8x4x4xi8, #npu.dram>) strides [2, 2] pads [0, 0, 0, 0]
    func.return
  }
}
