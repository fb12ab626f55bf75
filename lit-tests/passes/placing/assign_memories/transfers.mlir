// RUN: npu-opt %s -p npu-assign-memories --split-input-file | filecheck %s

// A transfer moves a buffer where an engine reaches it, also through a view, in either direction, and
// if the transfer is one of MLIR's own. What no transfer touches lies where the core is fastest.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "tcm", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "axi", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%far: memref<16xf32, #npu.dram>) {
    // CHECK: %loaded = sram.alloc : memref<16xf32, #npu.memory<"axi">>
    %loaded = sram.alloc : memref<16xf32, #npu.sram>
    // CHECK: %inner = sram.alloc : memref<16xf32, #npu.memory<"tcm">>
    %inner = sram.alloc : memref<16xf32, #npu.sram>
    // CHECK: %stored = sram.alloc : memref<32xf32, #npu.memory<"axi">>
    %stored = sram.alloc : memref<32xf32, #npu.sram>
    %half = memref.subview %stored[16] [16] [1] : memref<32xf32, #npu.sram> to memref<16xf32, strided<[1], offset: 16>, #npu.sram>
    // CHECK: dma.start %far to %loaded channel 0 : memref<16xf32, #npu.dram> to memref<16xf32, #npu.memory<"axi">>
    %t = dma.start %far to %loaded channel 0 : memref<16xf32, #npu.dram> to memref<16xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%loaded : memref<16xf32, #npu.sram>) outs(%inner : memref<16xf32, #npu.sram>)
    npu.relu ins(%inner : memref<16xf32, #npu.sram>) outs(%half : memref<16xf32, strided<[1], offset: 16>, #npu.sram>)
    %u = dma.start %half to %far channel 0 : memref<16xf32, strided<[1], offset: 16>, #npu.sram> to memref<16xf32, #npu.dram>
    dma.wait %u
    func.return
  }

  // CHECK-LABEL: @upstream
  func.func @upstream(%far: memref<16xf32, #npu.dram>, %tag: memref<1xi32>, %zero: index, %count: index) {
    // CHECK: %near = sram.alloc : memref<16xf32, #npu.memory<"axi">>
    %near = sram.alloc : memref<16xf32, #npu.sram>
    "memref.dma_start"(%far, %zero, %near, %zero, %count, %tag, %zero) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<16xf32, #npu.dram>, index, memref<16xf32, #npu.sram>, index, index, memref<1xi32>, index) -> ()
    "memref.dma_wait"(%tag, %zero, %count) : (memref<1xi32>, index, index) -> ()
    func.return
  }
}

// -----

// The fast memory has room for one of two buffers. The core does not wait for what an engine moves,
// so it is for the buffer that the core writes.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 256 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @only_moved
  func.func @only_moved(%far: memref<64xf32, #npu.dram>, %x: memref<64xf32, #npu.memory<"slow">> {sram.input}) {
    // CHECK: %moved = sram.alloc : memref<64xf32, #npu.memory<"slow">>
    %moved = sram.alloc : memref<64xf32, #npu.sram>
    // CHECK: %worked = sram.alloc : memref<64xf32, #npu.memory<"fast">>
    %worked = sram.alloc : memref<64xf32, #npu.sram>
    %t = dma.start %far to %moved channel 0 : memref<64xf32, #npu.dram> to memref<64xf32, #npu.sram>
    npu.relu ins(%x : memref<64xf32, #npu.memory<"slow">>) outs(%worked : memref<64xf32, #npu.sram>)
    dma.wait %t
    %u = dma.start %moved to %far channel 0 : memref<64xf32, #npu.sram> to memref<64xf32, #npu.dram>
    dma.wait %u
    func.return
  }
}

// -----

// An offset that is decided already is one in the memory that tiles are planned for: the largest one
// that the engine reaches. Without an engine it is an error (invalid.mlir).

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, dma_channels = 2 : i64, memory = [
    {name = "tcm", bytes = 4096 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "small", bytes = 256 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "axi", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @placed
  func.func @placed() {
    // CHECK: %there = sram.alloc at 64 : memref<16xf32, #npu.memory<"axi">>
    %there = sram.alloc at 64 : memref<16xf32, #npu.sram>
    // CHECK: %free = sram.alloc : memref<16xf32, #npu.memory<"tcm">>
    %free = sram.alloc : memref<16xf32, #npu.sram>
    npu.relu ins(%there : memref<16xf32, #npu.sram>) outs(%free : memref<16xf32, #npu.sram>)
    func.return
  }
}
