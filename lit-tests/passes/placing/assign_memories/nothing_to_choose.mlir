// RUN: npu-opt %s -p npu-assign-memories --split-input-file | filecheck %s

// No machine; a machine with one memory; a function without buffers on chip.

// CHECK-LABEL: @unknown
// CHECK-SAME: memref<4xf32, #npu.sram>
func.func @unknown(%x: memref<4xf32, #npu.sram> {sram.input}) {
  func.return
}

// -----

builtin.module attributes {npu.target = #npu.target<"board", {memory = [
    {name = "ram", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "flash", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  // CHECK-LABEL: @one
  // CHECK-SAME: memref<4xf32, #npu.sram>
  func.func @one(%x: memref<4xf32, #npu.sram> {sram.input}) {
    func.return
  }
}

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @none
  // CHECK-SAME: memref<4xf32, #npu.dram>
  func.func @none(%x: memref<4xf32, #npu.dram>) {
    func.return
  }
}

// -----

// An argument that is neither input nor output is no buffer of the function.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @unmarked
  // CHECK-SAME: (%x: memref<4xf32, #npu.memory<"fast">> {sram.input}, %y: memref<4xf32, #npu.sram>)
  func.func @unmarked(%x: memref<4xf32, #npu.sram> {sram.input}, %y: memref<4xf32, #npu.sram>) {
    func.return
  }
}
