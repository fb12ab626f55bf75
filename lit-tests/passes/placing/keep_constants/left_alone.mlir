// RUN: npu-opt %s -p npu-keep-constants --split-input-file | filecheck %s

// No copies: flash is as fast, there is no room, nobody says how fast flash is, or the memory on
// chip is filled by transfers.

// CHECK-NOT: copy_at
// CHECK-NOT: ready
builtin.module attributes {npu.target = #npu.target<"as_fast", {flash_bytes = 4096 : i64, memory = [
    {name = "ram", bytes = 48 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 4 : i64, read_only = true}]}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %w = memref.get_global @w : memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}

// -----

builtin.module attributes {npu.target = #npu.target<"full", {flash_bytes = 4096 : i64, memory = [
    {name = "ram", bytes = 31 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %w = memref.get_global @w : memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}

// -----

builtin.module attributes {npu.target = #npu.target<"unknown", {sram_bytes = 4096 : i64, flash_bytes = 4096 : i64}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %w = memref.get_global @w : memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}

// -----

builtin.module attributes {npu.target = #npu.target<"transfers", {flash_bytes = 4096 : i64, dma_channels = 1 : i64, memory = [
    {name = "ram", bytes = 48 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %w = memref.get_global @w : memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}
