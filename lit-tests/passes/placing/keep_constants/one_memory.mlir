// RUN: npu-opt %s -p npu-keep-constants | filecheck %s

// A machine with one memory beside its flash: the copy lies in what the only arena leaves.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, alignment = 8 : i64, memory = [
    {name = "ram", bytes = 48 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  // CHECK: attributes {sram.arena = 40 : i64, sram.ready = {sram = 8 : i64}}
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    // CHECK: memref.get_global @w : memref<6xf32, #npu.flash> {sram.copy_at = {sram = 16 : i64}}
    %w = memref.get_global @w : memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}
