// RUN: npu-opt %s -p npu-assign-sram-offsets --verify-diagnostics --split-input-file | filecheck %s

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 8 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @large(%x: memref<4xf32, #npu.memory<"fast">> {sram.input}) {
    func.return
  }
}
// CHECK: npu-assign-sram-offsets: @large: 16 bytes of fast needed, 8 available on board; the buffers live at func.func alone take 16:
// CHECK-NEXT: x  4xf32  [0, 16)  16 bytes

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @undecided(%x: memref<4xf32, #npu.sram> {sram.input}) {
    func.return
  }
}
// CHECK: @undecided: expected npu-assign-memories before, as board has the memories fast, slow, and a buffer lies in none of them

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @partly(%x: memref<4xf32, #npu.sram> {sram.input}, %y: memref<4xf32, #npu.memory<"fast">> {sram.input}) {
    func.return
  }
}
// CHECK: @partly: expected npu-assign-memories before

// -----

builtin.module attributes {npu.target = #npu.target<"board", {sram_bytes = 64 : i64, flash_bytes = 0 : i64}>} {
  func.func @elsewhere(%x: memref<4xf32, #npu.memory<"fast">> {sram.input}) {
    func.return
  }
}
// CHECK: @elsewhere: expected buffers in the memories of board (#npu.sram), got #npu.memory<"fast">

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @pinned(%x: memref<4xf32, #npu.memory<"fast">> {sram.input, sram.offset = 60 : i64}) {
    func.return
  }
}
// CHECK: expected 'x', pinned at 60, to end within the 64 bytes of fast of board, got 76
