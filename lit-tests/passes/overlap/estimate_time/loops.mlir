// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-estimate-time | filecheck %s

// Loops are counted exactly. A transfer of 64 bytes takes 10 + 16 cycles, a layer 2.

// Four loads that wait, and a branch that only the first and the last iteration take.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @ends_differ
  // CHECK-SAME: npu.cycles = {compute = 12 : i64, transfer = 104 : i64, exposed = 104 : i64, total = 116 : i64}
  // CHECK: npu.relu {{.*}}npu.cycles = {compute = 8 : i64, transfer = 0 : i64, exposed = 0 : i64, total = 8 : i64}
  // CHECK: npu.map {{.*}}npu.cycles = {compute = 4 : i64, transfer = 0 : i64, exposed = 0 : i64, total = 4 : i64}
  func.func @ends_differ(%x : memref<16xf32, #npu.dram>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %a = sram.alloc : memref<16xf32, #npu.sram>
    scf.for %i = %c0 to %c4 step %c1 {
      %t = dma.start %x to %a channel 0 : memref<16xf32, #npu.dram> to memref<16xf32, #npu.sram>
      dma.wait %t
      npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
      %rest = arith.remui %i, %c3 : index
      %end = arith.cmpi eq, %rest, %c0 : index
      scf.if %end {
        npu.map ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>) with silu
      }
    }
    func.return
  }
}

// -----

// Buffers and the token of the next load go from iteration to iteration. Two loads are under way at
// a time: one takes its 10 cycles of setup while the other one has the bus. The first layer waits 26
// cycles. The bus is the limit from then on: each of the other 4 loads ends 16 cycles later. The
// last layer takes 2.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @carried
  // CHECK-SAME: npu.cycles = {compute = 10 : i64, transfer = 130 : i64, exposed = 82 : i64, total = 92 : i64}
  func.func @carried(%x : memref<16xf32, #npu.dram>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %a = sram.alloc : memref<16xf32, #npu.sram>
    %b = sram.alloc : memref<16xf32, #npu.sram>
    %t = dma.start %x to %a channel 0 : memref<16xf32, #npu.dram> to memref<16xf32, #npu.sram>
    %p, %q, %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%this = %a, %next = %b, %u = %t) -> (memref<16xf32, #npu.sram>, memref<16xf32, #npu.sram>, !dma.token) {
      %v = dma.start %x to %next channel 0 : memref<16xf32, #npu.dram> to memref<16xf32, #npu.sram>
      dma.wait %u
      npu.relu ins(%this : memref<16xf32, #npu.sram>) outs(%this : memref<16xf32, #npu.sram>)
      scf.yield %next, %this, %v : memref<16xf32, #npu.sram>, memref<16xf32, #npu.sram>, !dma.token
    }
    dma.wait %last
    npu.relu ins(%p : memref<16xf32, #npu.sram>) outs(%p : memref<16xf32, #npu.sram>)
    func.return
  }
}

// -----

// A nest that only stores counts its bytes: 4 * 32 elements of 4 bytes, at 64 a cycle.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @fill
  // CHECK-SAME: npu.cycles = {compute = 8 : i64, transfer = 0 : i64, exposed = 0 : i64, total = 8 : i64}
  func.func @fill(%a : memref<4x32xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c32 step %c1 {
        memref.store %zero, %a[%i, %j] : memref<4x32xf32, #npu.sram>
      }
    }
    func.return
  }
}

// -----

// A constant table says in which iterations the layer runs: three of five, of 2 cycles each. To read
// the table takes a cycle each time.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  "memref.global"() {sym_name = "which", sym_visibility = "private", type = memref<5xi16>, initial_value = dense<[1, 0, -1, 0, 7]> : tensor<5xi16>, constant} : () -> ()
  // CHECK-LABEL: func.func @table
  // CHECK-SAME: npu.cycles = {compute = 11 : i64
  func.func @table(%a : memref<16xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %zero = arith.constant 0 : i16
    %which = memref.get_global @which : memref<5xi16>
    scf.for %i = %c0 to %c5 step %c1 {
      %n = memref.load %which[%i] : memref<5xi16>
      %runs = arith.cmpi ne, %n, %zero : i16
      scf.if %runs {
        npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
      }
    }
    func.return
  }
}
