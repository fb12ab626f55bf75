// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-estimate-time | filecheck %s

// Ops of upstream only. Transfers stand for their tags, which a loop exchanges. Iterations move 4, 4
// and 2 elements, as affine.min says: 14, 14 and 12 cycles. A product takes 16 / 2 cycles.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @upstream
  // CHECK-SAME: npu.cycles = {compute = 24 : i64, transfer = 40 : i64, exposed = 40 : i64, total = 64 : i64}
  // CHECK: linalg.matmul {npu.cycles = {compute = 24 : i64
  func.func @upstream(%x : memref<10xf32, #npu.dram>, %l : memref<2x4xf32, #npu.sram>, %r : memref<4x2xf32, #npu.sram>, %o : memref<2x2xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %a = memref.alloc() : memref<4xf32, #npu.sram>
    %one = memref.alloc() : memref<1xi32>
    %two = memref.alloc() : memref<1xi32>
    %c4 = arith.constant 4 : index
    %c10 = arith.constant 10 : index
    %p, %q = scf.for %i = %c0 to %c10 step %c4 iter_args(%tag = %one, %other = %two) -> (memref<1xi32>, memref<1xi32>) {
      %n = affine.min affine_map<(d0) -> (4, 10 - d0)>(%i)
      "memref.dma_start"(%x, %i, %a, %c0, %n, %tag, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<10xf32, #npu.dram>, index, memref<4xf32, #npu.sram>, index, index, memref<1xi32>, index) -> ()
      "memref.dma_wait"(%tag, %c0, %n) {operandSegmentSizes = array<i32: 1, 1, 1>} : (memref<1xi32>, index, index) -> ()
      linalg.matmul ins(%l, %r : memref<2x4xf32, #npu.sram>, memref<4x2xf32, #npu.sram>) outs(%o : memref<2x2xf32, #npu.sram>)
      scf.yield %other, %tag : memref<1xi32>, memref<1xi32>
    }
    func.return
  }
}

// -----

// The load for the next iteration has the other tag. Each takes 14 cycles, and a product 8: the core
// waits 14 cycles for the first load, not for the second one, 6 for the third one, not for the last.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @next_tag
  // CHECK-SAME: npu.cycles = {compute = 24 : i64, transfer = 56 : i64, exposed = 20 : i64, total = 44 : i64}
  func.func @next_tag(%x : memref<4xf32, #npu.dram>, %a : memref<4xf32, #npu.sram>, %l : memref<2x4xf32, #npu.sram>, %r : memref<4x2xf32, #npu.sram>, %o : memref<2x2xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %one = memref.alloc() : memref<1xi32>
    %two = memref.alloc() : memref<1xi32>
    "memref.dma_start"(%x, %c0, %a, %c0, %c4, %one, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<4xf32, #npu.dram>, index, memref<4xf32, #npu.sram>, index, index, memref<1xi32>, index) -> ()
    %p, %q = affine.for %i = 0 to 3 iter_args(%tag = %one, %other = %two) -> (memref<1xi32>, memref<1xi32>) {
      "memref.dma_start"(%x, %c0, %a, %c0, %c4, %other, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<4xf32, #npu.dram>, index, memref<4xf32, #npu.sram>, index, index, memref<1xi32>, index) -> ()
      "memref.dma_wait"(%tag, %c0, %c4) {operandSegmentSizes = array<i32: 1, 1, 1>} : (memref<1xi32>, index, index) -> ()
      linalg.matmul ins(%l, %r : memref<2x4xf32, #npu.sram>, memref<4x2xf32, #npu.sram>) outs(%o : memref<2x2xf32, #npu.sram>)
      affine.yield %other, %tag : memref<1xi32>, memref<1xi32>
    }
    "memref.dma_wait"(%p, %c0, %c4) {operandSegmentSizes = array<i32: 1, 1, 1>} : (memref<1xi32>, index, index) -> ()
    func.return
  }
}

// -----

// A copy over the border of the chip is a transfer that the core waits for; one on chip is work.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @copies
  // CHECK-SAME: npu.cycles = {compute = 12 : i64, transfer = 126 : i64, exposed = 126 : i64, total = 138 : i64}
  func.func @copies(%x : memref<32xf32, #npu.dram>) {
    %a = memref.alloc() : memref<32xf32, #npu.sram>
    %b = memref.alloc() : memref<32xf32, #npu.sram>
    affine.for %i = 0 to 10 step 4 {
      "memref.copy"(%x, %a) : (memref<32xf32, #npu.dram>, memref<32xf32, #npu.sram>) -> ()
      "memref.copy"(%a, %b) : (memref<32xf32, #npu.sram>, memref<32xf32, #npu.sram>) -> ()
    }
    func.return
  }
}
