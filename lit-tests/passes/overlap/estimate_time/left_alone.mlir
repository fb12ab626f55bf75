// RUN: npu-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline=npu-estimate-time | filecheck %s

// What cannot be counted is not guessed: the function says why, and its old cycles are dropped.

// Nobody knows how often the loop runs.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @no_bound
  // CHECK-SAME: npu.not_timed = "%n does not follow from constants and indices of loops"
  // CHECK-NOT: npu.cycles
  func.func @no_bound(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>, %n : index) attributes {npu.cycles = {total = 7 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>) {npu.layer = "one"}
    }
    func.return
  }
}

// -----

// Another dialect's op does not say how it computes.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @unknown_op
  // CHECK-SAME: npu.not_timed = "nobody says how long toy.thing takes"
  // CHECK-NOT: npu.cycles
  func.func @unknown_op(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    "toy.thing"(%a) : (memref<16xf32, #npu.sram>) -> ()
    npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>) {npu.layer = "one"}
    func.return
  }
}

// -----

// A layer that is lowered to loops.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @lowered
  // CHECK-SAME: npu.not_timed = "nobody says how long arith.addf takes"
  // CHECK-NOT: npu.cycles
  func.func @lowered(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.for %i = %c0 to %c16 step %c1 {
      %v = memref.load %a[%i] : memref<16xf32, #npu.sram>
      %w = arith.addf %v, %v : f32
      memref.store %w, %a[%i] : memref<16xf32, #npu.sram>
    }
    func.return
  }
}

// -----

// A loop that goes on while a condition holds.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @while
  // CHECK-SAME: npu.not_timed = "nobody says how often the body of scf.while runs"
  // CHECK-NOT: npu.cycles
  func.func @while(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    %c0 = arith.constant 0 : index
    %r = scf.while (%i = %c0) : (index) -> index {
      %go = arith.cmpi ult, %i, %c0 : index
      scf.condition(%go) %i : index
    } do {
    ^bb0(%i : index):
      scf.yield %i : index
    }
    func.return
  }
}

// -----

// Only transfers reach memory off the chip.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @off_chip
  // CHECK-SAME: npu.not_timed = "npu.relu (one) works on #npu.dram, which only transfers reach"
  // CHECK-NOT: npu.cycles
  func.func @off_chip(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    npu.relu ins(%x : memref<16xf32, #npu.dram>) outs(%x : memref<16xf32, #npu.dram>) {npu.layer = "one"}
    func.return
  }
}

// -----

// The machine does not say how fast it multiplies such elements.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @no_rate
  // CHECK-SAME: npu.not_timed = "npu.fully_connected: there is no macs_per_cycle for f64"
  // CHECK-NOT: npu.cycles
  func.func @no_rate(%a : memref<1x8xf64, #npu.sram>, %w : memref<4x8xf64, #npu.sram>, %y : memref<1x4xf64, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    npu.fully_connected ins(%a, %w : memref<1x8xf64, #npu.sram>, memref<4x8xf64, #npu.sram>) outs(%y : memref<1x4xf64, #npu.sram>)
    func.return
  }
}

// -----

// Nobody waits for the transfer.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @never_waits
  // CHECK-SAME: npu.not_timed = "a transfer has no wait"
  // CHECK-NOT: npu.cycles
  func.func @never_waits(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    %t = dma.start %x to %a channel 0 : memref<16xf32, #npu.dram> to memref<16xf32, #npu.sram>
    func.return
  }
}

// -----

// Zero blocks do not move.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @of_blocks
  // CHECK-SAME: npu.not_timed = "which blocks dma.start moves depends on their data"
  // CHECK-NOT: npu.cycles
  func.func @of_blocks(%m : memref<1x4x8x8xi8, #npu.dram>, %ix : memref<8xi8, #npu.dram>, %a : memref<1x4x8x8xi8, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    %t = dma.start %m to %a channel 0 blocks 2 zero 0 of %m, %ix : memref<1x4x8x8xi8, #npu.dram> to memref<1x4x8x8xi8, #npu.sram> of memref<1x4x8x8xi8, #npu.dram>, memref<8xi8, #npu.dram>
    dma.wait %t
    func.return
  }
}

// -----

// A function from elsewhere.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @external
  // CHECK-SAME: npu.not_timed = "nobody says how long @other takes"
  // CHECK-NOT: npu.cycles
  func.func @external(%x : memref<16xf32, #npu.dram>, %a : memref<16xf32, #npu.sram>) attributes {npu.cycles = {total = 7 : i64}} {
    func.call @other() : () -> ()
    func.return
  }
  func.func private @other() -> ()
}
