// RUN: npu-opt %s -p npu-assign-memories --verify-diagnostics --split-input-file | filecheck %s

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @large(%x: memref<32xf32, #npu.sram> {sram.input}, %y: memref<32xf32, #npu.sram> {sram.output}) {
    npu.softmax ins(%x : memref<32xf32, #npu.sram>) outs(%y : memref<32xf32, #npu.sram>) axis 0 {npu.layer = "soft"}
    func.return
  }
}
// CHECK: npu-assign-memories: @large: the buffers do not fit into the memories of board:
// CHECK-NEXT: fast: 128 bytes needed, 64 available
// CHECK-NEXT: slow: 128 bytes needed, 128 available
// CHECK-NEXT: the buffers live at npu.softmax "soft" alone take 256:
// CHECK-NEXT: x  32xf32  in {{fast|slow}}  128 bytes
// CHECK-NEXT: y  32xf32  in {{fast|slow}}  128 bytes

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @placed(%x: memref<4xf32, #npu.sram> {sram.input, sram.offset = 16 : i64}) {
    func.return
  }
}
// CHECK: expected 'x' without an offset, as its memory is not chosen yet, got 16

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @elsewhere(%x: memref<4xf32, #npu.memory<"psram">> {sram.input}, %y: memref<4xf32, #npu.sram> {sram.input}) {
    func.return
  }
}
// CHECK: expected 'x' in one of the memories fast, slow of board, got #npu.memory<"psram">

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func private @layer(memref<4xf32, #npu.sram>) -> ()
  func.func @calls(%x: memref<4xf32, #npu.sram> {sram.input}) {
    func.call @layer(%x) : (memref<4xf32, #npu.sram>) -> ()
    func.return
  }
}
// CHECK: expected no calls: run this before npu-outline-layers

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @returns() -> memref<4xf32, #npu.sram> {
    %a = sram.alloc : memref<8xf32, #npu.sram>
    %view = memref.subview %a[0] [4] [1] : memref<8xf32, #npu.sram> to memref<4xf32, #npu.sram>
    func.return %view : memref<4xf32, #npu.sram>
  }
}
// CHECK: expected 'a' not to be returned, as its memory becomes a part of its type: npu-bufferize makes results arguments

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @blocks(%x: memref<4xf32, #npu.sram> {sram.input}) {
    cf.br ^next(%x : memref<4xf32, #npu.sram>)
  ^next(%y: memref<4xf32, #npu.sram>):
    func.return
  }
}
// CHECK: expected a function of one block, with structured control flow (scf), got 2 blocks, which may pass buffers on
