// RUN: npu-opt %s -p 'npu-assign-memories{ports=dma}' --verify-diagnostics --split-input-file | filecheck %s

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "tcm", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "itcm", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64, dma = false}]}>} {
  func.func @f(%x: memref<4xf32, #npu.sram> {sram.input}) {
    func.return
  }
}
// CHECK: npu-assign-memories: expected a memory of board in which 'x' may lie, got none: see the option ports

// -----

// One value is either of two buffers, which are in different memories already.
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "a", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "b", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @g(%x: memref<4xf32, #npu.memory<"a">> {sram.input}, %y: memref<4xf32, #npu.memory<"b">> {sram.input}, %z: memref<4xf32, #npu.sram> {sram.input}) {
    %either = "test.op"(%x, %y) : (memref<4xf32, #npu.memory<"a">>, memref<4xf32, #npu.memory<"b">>) -> memref<4xf32, #npu.memory<"a">>
    func.return
  }
}
// CHECK: expected a memory of board in which 'x' may lie, got none

// -----

// A buffer that a transfer moves lies in a memory already, which no engine reaches.
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "tcm", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "axi", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @h(%far: memref<4xf32, #npu.dram>) {
    %near = sram.alloc : memref<4xf32, #npu.memory<"tcm">>
    %other = sram.alloc : memref<4xf32, #npu.sram>
    %t = dma.start %far to %near channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.memory<"tcm">>
    dma.wait %t
    func.return
  }
}
// CHECK: npu-assign-memories: expected a memory of board in which 'near' may lie, got none:
// CHECK-SAME: buffers that transfers move, which need a memory with dma = true
