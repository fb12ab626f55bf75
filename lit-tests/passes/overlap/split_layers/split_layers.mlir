// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-split-layers | filecheck %s

// The layer waits for 128 kernels. It computes the first ones while the others arrive, on channels
// that are idle. The loops of `npu.runs` stay; `npu.tile` describes the whole layer and stays once.
// CHECK-LABEL: func.func @load
// CHECK: [[FROM:%.*]] = memref.subview %w[0, 0, 0, 0] [32, 32, 1, 1]
// CHECK-NEXT: [[TO:%.*]] = memref.subview %w_tile[0, 0, 0, 0] [32, 32, 1, 1]
// CHECK-NEXT: [[A:%.*]] = dma.start weights [[FROM]] to [[TO]] channel 0 {npu.layer = "conv"}
// CHECK-NEXT: memref.subview %w[32, 0, 0, 0] [32, 32, 1, 1]
// CHECK-NEXT: memref.subview %w_tile[32, 0, 0, 0] [32, 32, 1, 1]
// CHECK-NEXT: [[B:%.*]] = dma.start weights {{.*}} channel 1 {npu.layer = "conv"}
// CHECK: dma.start weights {{.*}} channel 2
// CHECK: dma.start weights {{.*}} channel 3
// CHECK-NEXT: dma.wait [[A]]
// CHECK-NEXT: [[W:%.*]] = memref.subview %w_tile[0, 0, 0, 0] [32, 32, 1, 1]
// CHECK-NEXT: [[Y:%.*]] = memref.subview %y_tile[0, 0, 0, 0] [1, 32, 4, 4]
// CHECK-NEXT: npu.conv2d ins(%x_tile, [[W]] : {{.*}}) outs([[Y]] : {{.*}} {npu.layer = "conv", npu.runs = 2 : i64, npu.tile
// CHECK-NEXT: dma.wait [[B]]
// CHECK-NEXT: [[W:%.*]] = memref.subview %w_tile[32, 0, 0, 0] [32, 32, 1, 1]
// CHECK-NEXT: [[Y:%.*]] = memref.subview %y_tile[0, 32, 0, 0] [1, 32, 4, 4]
// CHECK-NEXT: npu.conv2d ins(%x_tile, [[W]] : {{.*}}) outs([[Y]] : {{.*}} {npu.layer = "conv", npu.runs = 2 : i64}
// CHECK-COUNT-2: npu.conv2d ins(%x_tile
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @load(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
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

// The outputs of a group leave while the next one is computed. The address of the store, which is
// computed behind the layer, is needed in front of the second group.
// CHECK-LABEL: func.func @store
// CHECK: %place = arith.constant 0 : index
// CHECK: npu.conv2d
// CHECK: [[FROM:%.*]] = memref.subview %y_tile[0, 0, 0, 0] [1, 64, 4, 4]
// CHECK: [[A:%.*]] = dma.start [[FROM]] to {{.*}} channel 3
// CHECK-NOT: dma.wait
// CHECK: npu.conv2d
// CHECK: [[B:%.*]] = dma.start {{.*}} channel 0
// CHECK-NEXT: dma.wait [[A]]
// CHECK-NEXT: dma.wait [[B]]
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @store(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    %place = arith.constant 0 : index
    %part = memref.subview %y[0, %place, 0, 0] [1, 128, 4, 4] [1, 1, 1, 1] : memref<1x128x4x4xi8, #npu.dram> to memref<1x128x4x4xi8, strided<[2048, 16, 4, 1], offset: ?>, #npu.dram>
    %1 = dma.start %y_tile to %part channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, strided<[2048, 16, 4, 1], offset: ?>, #npu.dram>
    dma.wait %1
    func.return
  }
}

// -----

// The small layer behind hides little of the store that it stands in front of.
// CHECK-LABEL: func.func @small_layer_behind
// CHECK: npu.conv2d
// CHECK: [[A:%.*]] = dma.start
// CHECK: npu.conv2d
// CHECK: [[B:%.*]] = dma.start
// CHECK-NEXT: npu.relu
// CHECK-NEXT: dma.wait [[A]]
// CHECK-NEXT: dma.wait [[B]]
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @small_layer_behind(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv"}
    %1 = dma.start %y_tile to %y channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, #npu.dram>
    npu.relu ins(%x_tile : memref<1x32x4x4xi8, #npu.sram>) outs(%x_tile : memref<1x32x4x4xi8, #npu.sram>) {npu.layer = "other"}
    dma.wait %1
    func.return
  }
}

// -----

// The layer overwrites a tile that a store still reads. Each group waits for the part that it
// overwrites: the second part of the store moves beside the first group. Nobody waits for it before.
// CHECK-LABEL: func.func @earlier
// CHECK: [[PART:%.*]] = memref.subview %y_tile[0, 0, 0, 0] [1, 64, 4, 4]
// CHECK: [[A:%.*]] = dma.start [[PART]] to {{.*}} channel 3
// CHECK: [[PART:%.*]] = memref.subview %y_tile[0, 64, 0, 0] [1, 64, 4, 4]
// CHECK: [[B:%.*]] = dma.start [[PART]] to {{.*}} channel 0
// CHECK-NEXT: npu.relu
// CHECK-NEXT: dma.wait [[A]]
// CHECK: npu.conv2d
// CHECK-NEXT: dma.wait [[B]]
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 20 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @earlier(%w : memref<128x32x1x1xi8, #npu.dram>, %y : memref<1x128x4x4xi8, #npu.dram>) {
    %x_tile = sram.alloc at 0 : memref<1x32x4x4xi8, #npu.sram>
    %w_tile = sram.alloc at 512 : memref<128x32x1x1xi8, #npu.sram>
    %y_tile = sram.alloc at 4608 : memref<1x128x4x4xi8, #npu.sram>
    %0 = dma.start %y_tile to %y channel 3 : memref<1x128x4x4xi8, #npu.sram> to memref<1x128x4x4xi8, #npu.dram>
    npu.relu ins(%x_tile : memref<1x32x4x4xi8, #npu.sram>) outs(%x_tile : memref<1x32x4x4xi8, #npu.sram>)
    dma.wait %0
    npu.conv2d ins(%x_tile, %w_tile : memref<1x32x4x4xi8, #npu.sram>, memref<128x32x1x1xi8, #npu.sram>) outs(%y_tile : memref<1x128x4x4xi8, #npu.sram>) {npu.layer = "conv"}
    func.return
  }
}
