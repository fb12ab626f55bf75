// RUN: npu-opt %s -p npu-store-constants --split-input-file | filecheck %s

// One read-only memory, or none in the file: constants stay in #npu.flash.

// CHECK-NOT: npu.memory<
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 64 : i64, memory = [
    {name = "ram", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64, read_only = true}]}>} {
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

builtin.module attributes {npu.target = #npu.target<"board", {sram_bytes = 64 : i64, flash_bytes = 64 : i64}>} {
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

builtin.module {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %w = memref.get_global @w : memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}
