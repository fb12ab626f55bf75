// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-split-layers | filecheck %s

// A layer runs beside the load.
// CHECK-LABEL: func.func @hidden
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @hidden(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start weights %w to %w_tile channel 0 {npu.layer = "conv"} : memref<128x32x1x1xi8, #npu.dram> to memref<128x32x1x1xi8, #npu.sram>
    npu.relu ins(%x_tile : memref<1x32x4x4xi8, #npu.sram>) outs(%x_tile : memref<1x32x4x4xi8, #npu.sram>) {npu.layer = "other"}
    dma.wait %0
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    func.return
  }
}

// -----

// A layer runs between the wait for the load and the layer that needs it.
// CHECK-LABEL: func.func @between
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @between(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start weights %w to %w_tile channel 0 {npu.layer = "conv"} : memref<128x32x1x1xi8, #npu.dram> to memref<128x32x1x1xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%x_tile : memref<1x32x4x4xi8, #npu.sram>) outs(%x_tile : memref<1x32x4x4xi8, #npu.sram>) {npu.layer = "other"}
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    func.return
  }
}

// -----

// Each part would be a microcode program of its own.
// CHECK-LABEL: func.func @pl330
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64, dma_fifo_bytes = 1024 : i64, dma_beat_bytes = 8 : i64, dma_burst = 16 : i64, dma_events = 16 : i64, dma_peripherals = 4 : i64}>} {
  func.func @pl330(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start weights %w to %w_tile channel 0 {npu.layer = "conv"} : memref<128x32x1x1xi8, #npu.dram> to memref<128x32x1x1xi8, #npu.sram>
    dma.wait %0
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    func.return
  }
}

// -----

// Another transfer writes the same map.
// CHECK-LABEL: func.func @other_store
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @other_store(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    %1 = dma.start %y_tile to %y channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, #npu.dram>
    %2 = dma.start %y_tile to %y channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, #npu.dram>
    dma.wait %1
    dma.wait %2
    func.return
  }
}

// -----

// The layer needs a part of what is loaded only: nobody knows which kernels come first.
// CHECK-LABEL: func.func @in_parts
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @in_parts(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start weights %w to %w_tile channel 0 {npu.layer = "conv"} : memref<128x32x1x1xi8, #npu.dram> to memref<128x32x1x1xi8, #npu.sram>
    dma.wait %0
    %c0 = arith.constant 0 : index
    %some = memref.subview %w_tile[%c0, 0, 0, 0] [64, 32, 1, 1] [1, 1, 1, 1] : memref<128x32x1x1xi8, #npu.sram> to memref<64x32x1x1xi8, strided<[32, 1, 1, 1], offset: ?>, #npu.sram>
    %out = memref.subview %y_tile[0, %c0, 0, 0] [1, 64, 4, 4] [1, 1, 1, 1] : memref<1x128x4x4xi8, #npu.sram> to memref<1x64x4x4xi8, strided<[2048, 16, 4, 1], offset: ?>, #npu.sram>
    npu.conv2d ins(%x_tile, %some : memref<1x32x4x4xi8, #npu.sram>, memref<64x32x1x1xi8, strided<[32, 1, 1, 1], offset: ?>, #npu.sram>) outs(%out : memref<1x64x4x4xi8, strided<[2048, 16, 4, 1], offset: ?>, #npu.sram>) {npu.layer = "conv"}
    func.return
  }
}

// -----

// All kernels need all of the input.
// CHECK-LABEL: func.func @inputs
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @inputs(%x : memref<1x32x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start %x to %x_tile channel 1 : memref<1x32x4x4xi8, #npu.dram> to memref<1x32x4x4xi8, #npu.sram>
    dma.wait %0
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    func.return
  }
}

// -----

// The output may overwrite the kernels of a later group.
// CHECK-LABEL: func.func @shared
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @shared(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 256 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start weights %w to %w_tile channel 0 : memref<128x32x1x1xi8, #npu.dram> to memref<128x32x1x1xi8, #npu.sram>
    dma.wait %0
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    func.return
  }
}

// -----

// The machine does not say how long things take.
// CHECK-LABEL: func.func @no_rates
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @no_rates(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start weights %w to %w_tile channel 0 {npu.layer = "conv"} : memref<128x32x1x1xi8, #npu.dram> to memref<128x32x1x1xi8, #npu.sram>
    dma.wait %0
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    func.return
  }
}

// -----

// The store runs beside the layer behind.
// CHECK-LABEL: func.func @behind
// CHECK-COUNT-2: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @behind(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %z_tile = sram.alloc at 8192 : memref<1x128x4x4xi8, #npu.sram>
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv"}
    %1 = dma.start %y_tile to %y channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, #npu.dram>
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%z_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv"}
    dma.wait %1
    func.return
  }
}

// -----

// Nobody says how long the op behind takes.
// CHECK-LABEL: func.func @unknown_behind
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @unknown_behind(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv"}
    %1 = dma.start %y_tile to %y channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, #npu.dram>
    "test.op"(%x_tile) : (memref<1x32x4x4xi8, #npu.sram>) -> ()
    dma.wait %1
    func.return
  }
}
