// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-split-transfers | filecheck %s

// The machine does not say how long things take.
// CHECK-LABEL: func.func @no_rates
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @no_rates(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    func.return
  }
}

// -----

// Runs cost nothing.
// CHECK-LABEL: func.func @no_jumps
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @no_jumps(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    func.return
  }
}

// -----

// Each part would be a microcode program of its own.
// CHECK-LABEL: func.func @pl330
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64, dma_fifo_bytes = 1024 : i64, dma_beat_bytes = 8 : i64, dma_burst = 16 : i64, dma_events = 16 : i64, dma_peripherals = 4 : i64}>} {
  func.func @pl330(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    func.return
  }
}

// -----

// The transfer hides behind a layer, as it is.
// CHECK-LABEL: func.func @hidden
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @hidden(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %b = sram.alloc at 3840 : memref<1x4096x2x8xi8, #npu.sram>
    %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    npu.relu ins(%b : memref<1x4096x2x8xi8, #npu.sram>) outs(%b : memref<1x4096x2x8xi8, #npu.sram>) {npu.layer = "other"}
    npu.relu ins(%b : memref<1x4096x2x8xi8, #npu.sram>) outs(%b : memref<1x4096x2x8xi8, #npu.sram>) {npu.layer = "other"}
    npu.relu ins(%b : memref<1x4096x2x8xi8, #npu.sram>) outs(%b : memref<1x4096x2x8xi8, #npu.sram>) {npu.layer = "other"}
    npu.relu ins(%b : memref<1x4096x2x8xi8, #npu.sram>) outs(%b : memref<1x4096x2x8xi8, #npu.sram>) {npu.layer = "other"}
    npu.relu ins(%b : memref<1x4096x2x8xi8, #npu.sram>) outs(%b : memref<1x4096x2x8xi8, #npu.sram>) {npu.layer = "other"}
    dma.wait %0
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    func.return
  }
}

// -----

// There is only one run.
// CHECK-LABEL: func.func @one_run
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @one_run(%map : memref<1x240x2x8xi8, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    func.return
  }
}

// -----

// The second store overwrites the first one: the order on their channel keeps them apart.
// CHECK-LABEL: func.func @in_order
// CHECK: dma.start %a to %map channel 3
// CHECK-NEXT: dma.start %b to %map channel 3
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @in_order(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %b = sram.alloc at 3840 : memref<1x240x2x8xi8, #npu.sram>
    %0 = dma.start %a to %map channel 3 : memref<1x240x2x8xi8, #npu.sram> to memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>
    %1 = dma.start %b to %map channel 3 : memref<1x240x2x8xi8, #npu.sram> to memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>
    dma.wait %0
    dma.wait %1
    func.return
  }
}

// -----

// Nobody knows how often the loop runs.
// CHECK-LABEL: func.func @unknown_loop
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @unknown_loop(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>, %end : index) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %end step %c1 {
      %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
      dma.wait %0
      npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    }
    func.return
  }
}

// -----

// The wait is in another block.
// CHECK-LABEL: func.func @elsewhere
// CHECK: dma.start %map to %a channel 1
// CHECK-NOT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 16 : i64}, dma_bytes_per_cycle = 16 : i64, dma_setup_cycles = 100 : i64, dma_jump_cycles = 4 : i64, sram_bytes_per_cycle = 256 : i64}>} {
  func.func @elsewhere(%map : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram>) attributes {sram.arena = 4096 : i64} {
    %a = sram.alloc at 0 : memref<1x240x2x8xi8, #npu.sram>
    %0 = dma.start %map to %a channel 1 : memref<1x240x2x8xi8, strided<[9600, 40, 8, 1]>, #npu.dram> to memref<1x240x2x8xi8, #npu.sram>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c1 step %c1 {
      dma.wait %0
    }
    npu.relu ins(%a : memref<1x240x2x8xi8, #npu.sram>) outs(%a : memref<1x240x2x8xi8, #npu.sram>) {npu.layer = "relu"}
    func.return
  }
}
