// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-prefetch | filecheck %s

// The weights find no room beside "between". The store in front of them gives way, so that they have the bus first, and moves while "behind"
// computes. The machine says how long all this takes.
// CHECK-LABEL: func.func @gives_way
// CHECK: npu.relu {{.*}}"between"
// CHECK: [[L:%.*]] = dma.start weights %w to %b
// CHECK: [[S:%.*]] = dma.start %a to %row
// CHECK-NEXT: dma.wait [[L]]
// CHECK-NEXT: npu.fully_connected {{.*}}"behind"
// CHECK-NEXT: dma.wait [[S]]
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 576 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {i8 = 1 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64}>} {
  func.func @gives_way(%map : memref<4x256xi8, #npu.dram>, %w : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 512 : i64}) attributes {sram.arena = 576 : i64} {
    %a = sram.alloc at 0 : memref<1x256xi8, #npu.sram>
    %d = sram.alloc at 256 : memref<1x256xi8, #npu.sram>
    %y = sram.alloc at 544 : memref<1x16xi8, #npu.sram>
    npu.relu ins(%a : memref<1x256xi8, #npu.sram>) outs(%a : memref<1x256xi8, #npu.sram>) {npu.layer = "before"}
    %row = memref.subview %map[0, 0] [1, 256] [1, 1] : memref<4x256xi8, #npu.dram> to memref<1x256xi8, strided<[256, 1]>, #npu.dram>
    %0 = dma.start %a to %row channel 1 : memref<1x256xi8, #npu.sram> to memref<1x256xi8, strided<[256, 1]>, #npu.dram>
    npu.relu ins(%d : memref<1x256xi8, #npu.sram>) outs(%d : memref<1x256xi8, #npu.sram>) {npu.layer = "between"}
    %b = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %1 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %1
    npu.fully_connected ins(%x, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%y : memref<1x16xi8, #npu.sram>) {npu.layer = "behind"}
    dma.wait %0
    npu.relu ins(%a : memref<1x256xi8, #npu.sram>) outs(%a : memref<1x256xi8, #npu.sram>) {npu.layer = "last"}
    func.return
  }
}

// -----

// Without such numbers nobody knows what waits.
// CHECK-LABEL: func.func @stays
// CHECK: dma.start %a to %row
// CHECK-NEXT: npu.relu {{.*}}"between"
// CHECK: dma.start weights %w to %b
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 576 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64}>} {
  func.func @stays(%map : memref<4x256xi8, #npu.dram>, %w : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 512 : i64}) attributes {sram.arena = 576 : i64} {
    %a = sram.alloc at 0 : memref<1x256xi8, #npu.sram>
    %d = sram.alloc at 256 : memref<1x256xi8, #npu.sram>
    %y = sram.alloc at 544 : memref<1x16xi8, #npu.sram>
    npu.relu ins(%a : memref<1x256xi8, #npu.sram>) outs(%a : memref<1x256xi8, #npu.sram>) {npu.layer = "before"}
    %row = memref.subview %map[0, 0] [1, 256] [1, 1] : memref<4x256xi8, #npu.dram> to memref<1x256xi8, strided<[256, 1]>, #npu.dram>
    %0 = dma.start %a to %row channel 1 : memref<1x256xi8, #npu.sram> to memref<1x256xi8, strided<[256, 1]>, #npu.dram>
    npu.relu ins(%d : memref<1x256xi8, #npu.sram>) outs(%d : memref<1x256xi8, #npu.sram>) {npu.layer = "between"}
    %b = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %1 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %1
    npu.fully_connected ins(%x, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%y : memref<1x16xi8, #npu.sram>) {npu.layer = "behind"}
    dma.wait %0
    npu.relu ins(%a : memref<1x256xi8, #npu.sram>) outs(%a : memref<1x256xi8, #npu.sram>) {npu.layer = "last"}
    func.return
  }
}
