// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-split-transfers | filecheck %s

// The core waits for 240 runs. Two parts are prepared at the same time, on channels that are idle:
// channel 2 has the other transfer.
// CHECK-LABEL: func.func @waited_for
// CHECK: [[T:%.*]] = dma.start %other to %b channel 2
// CHECK-NEXT: [[FROM:%.*]] = memref.subview %map[0, 0, 0, 0] [1, 120, 2, 8] [1, 1, 1, 1]
// CHECK-NEXT: [[TO:%.*]] = memref.subview %a[0, 0, 0, 0] [1, 120, 2, 8] [1, 1, 1, 1]
// CHECK-NEXT: [[ONE:%.*]] = dma.start weights [[FROM]] to [[TO]] channel 1 {npu.layer = "conv"} : memref<1x120x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x120x2x8xi8, strided<[3840, 16, 8, 1]>, #npu.sram>
// CHECK-NEXT: [[FROM:%.*]] = memref.subview %map[0, 120, 0, 0] [1, 120, 2, 8]
// CHECK-NEXT: [[TO:%.*]] = memref.subview %a[0, 120, 0, 0] [1, 120, 2, 8]
// CHECK-NEXT: [[TWO:%.*]] = dma.start weights [[FROM]] to [[TO]] channel 3 {npu.layer = "conv"}
// CHECK-NEXT: dma.wait [[T]]
// CHECK-NEXT: dma.wait [[ONE]]
// CHECK-NEXT: dma.wait [[TWO]]
// CHECK-NOT: dma.
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 1000 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @waited_for(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>, %other : memref<1x64xi8, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %b = sram.alloc at 3840 : memref<1x64xi8, #npu.sram>
    %0 = dma.start %other to %b channel 2 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    %1 = dma.start weights %map to %a channel 1 {npu.layer = "conv"} : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    dma.wait %0
    dma.wait %1
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "conv"}
    func.return
  }
}

// -----

// In a loop, the load for the next step runs beside this one. Views of a part of a buffer stay so.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: [[HALF:%.*]] = memref.subview %a[%half, 0, 0, 0]
// CHECK: memref.subview [[HALF]][0, 0, 0, 0] [1, {{[0-9]+}}, 2, 8] [1, 1, 1, 1] : memref<1x240x2x8xi8, strided<[3840, 16, 8, 1], offset: ?>, #npu.sram>
// CHECK-NEXT: dma.start
// CHECK: dma.start
// CHECK: npu.relu
// CHECK-NEXT: dma.wait
// CHECK-NEXT: dma.wait
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @loop(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 7680 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %a = sram.alloc at 0 : memref<2x240x2x8xi8, #npu.sram>
    scf.for %i = %c0 to %c8 step %c1 {
      %half = arith.remui %i, %c2 : index
      %tile = memref.subview %a[%half, 0, 0, 0] [1, 240, 2, 8] [1, 1, 1, 1] : memref<2x240x2x8xi8, #npu.sram> to memref<1x240x2x8xi8, strided<[3840, 16, 8, 1], offset: ?>, #npu.sram>
      %next = arith.addi %i, %c1 : index
      %other = arith.remui %next, %c2 : index
      %used = memref.subview %a[%other, 0, 0, 0] [1, 240, 2, 8] [1, 1, 1, 1] : memref<2x240x2x8xi8, #npu.sram> to memref<1x240x2x8xi8, strided<[3840, 16, 8, 1], offset: ?>, #npu.sram>
      %0 = dma.start %map to %tile channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, strided<[3840, 16, 8, 1], offset: ?>, #npu.sram>
      npu.relu ins(%used : memref<1x240x2x8xi8, strided<[3840, 16, 8, 1], offset: ?>, #npu.sram>) outs(%used : memref<1x240x2x8xi8, strided<[3840, 16, 8, 1], offset: ?>, #npu.sram>) {npu.layer = "relu"}
      dma.wait %0
    }
    func.return
  }
}
