// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-estimate-time | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-estimate-time,npu-estimate-time | filecheck %s

// A transfer of 4 runs of 16 bytes takes 10 + 3 * 2 + 16 cycles. The layer reads and writes 64 bytes
// each, at 64 bytes a cycle. The core waits for the load; the store runs beside the second layer,
// for 2 of its 26 cycles. Old cycles are replaced.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @two_layers
  // CHECK-SAME: attributes {npu.cycles = {compute = 4 : i64, transfer = 58 : i64, exposed = 56 : i64, total = 60 : i64}
  // CHECK: npu.relu {{.*}}npu.layer = "one", npu.cycles = {compute = 2 : i64, transfer = 58 : i64, exposed = 56 : i64, total = 58 : i64}
  // CHECK: npu.relu {{.*}}npu.layer = "two", npu.cycles = {compute = 2 : i64, transfer = 0 : i64, exposed = 0 : i64, total = 2 : i64}
  func.func @two_layers(%x : memref<8x8xf32, #npu.dram>, %y : memref<16xf32, #npu.dram>) attributes {npu.not_timed = "old", npu.cycles = {total = 7 : i64}} {
    %a = sram.alloc : memref<4x4xf32, #npu.sram>
    %b = sram.alloc : memref<16xf32, #npu.sram>
    %c = sram.alloc : memref<16xf32, #npu.sram>
    %part = memref.subview %x[0, 0] [4, 4] [1, 1] : memref<8x8xf32, #npu.dram> to memref<4x4xf32, strided<[8, 1]>, #npu.dram>
    %t = dma.start %part to %a channel 0 {npu.layer = "one"} : memref<4x4xf32, strided<[8, 1]>, #npu.dram> to memref<4x4xf32, #npu.sram>
    dma.wait %t
    %flat = memref.reinterpret_cast %a to offset: [0], sizes: [16], strides: [1] : memref<4x4xf32, #npu.sram> to memref<16xf32, #npu.sram>
    npu.relu ins(%flat : memref<16xf32, #npu.sram>) outs(%b : memref<16xf32, #npu.sram>) {npu.layer = "one"}
    %s = dma.start %b to %y channel 1 {npu.layer = "one"} : memref<16xf32, #npu.sram> to memref<16xf32, #npu.dram>
    npu.relu ins(%b : memref<16xf32, #npu.sram>) outs(%c : memref<16xf32, #npu.sram>) {npu.layer = "two"}
    dma.wait %s
    func.return
  }
}

// -----

// Multiply-accumulates: 8 * 4 at 2 a cycle. Both calls count for the layer, and only @main, which
// nobody calls, gets a sum.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: npu.cycles = {compute = 32 : i64, transfer = 0 : i64, exposed = 0 : i64, total = 32 : i64}
  func.func @main(%x : memref<1x8xf32, #npu.sram>, %w : memref<4x8xf32, #npu.sram>, %y : memref<1x4xf32, #npu.sram>) {
    func.call @dense(%x, %w, %y) : (memref<1x8xf32, #npu.sram>, memref<4x8xf32, #npu.sram>, memref<1x4xf32, #npu.sram>) -> ()
    func.call @dense(%x, %w, %y) : (memref<1x8xf32, #npu.sram>, memref<4x8xf32, #npu.sram>, memref<1x4xf32, #npu.sram>) -> ()
    func.return
  }
  // CHECK-LABEL: func.func private @dense
  // CHECK-NOT: attributes
  // CHECK: npu.fully_connected {{.*}}npu.cycles = {compute = 32 : i64, transfer = 0 : i64, exposed = 0 : i64, total = 32 : i64}
  func.func private @dense(%x : memref<1x8xf32, #npu.sram>, %w : memref<4x8xf32, #npu.sram>, %y : memref<1x4xf32, #npu.sram>) {
    npu.fully_connected ins(%x, %w : memref<1x8xf32, #npu.sram>, memref<4x8xf32, #npu.sram>) outs(%y : memref<1x4xf32, #npu.sram>)
    func.return
  }
}
