// RUN: npu-opt %s -p npu-keep-constants | filecheck %s

// There is room for one of two constants. Both are read once: the copy of @slow saves more, as it
// lies in the slow one of two read-only memories.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 2048 : i64, memory = [
    {name = "ram", bytes = 32 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 1024 : i64, read_bytes_per_cycle = 2 : i64, read_only = true},
    {name = "xip", bytes = 1024 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    // CHECK: memref.get_global @quick : memref<6xf32, #npu.memory<"rom">>{{$}}
    %q = memref.get_global @quick : memref<6xf32, #npu.memory<"rom">>
    %quick = "memref.memory_space_cast"(%q) : (memref<6xf32, #npu.memory<"rom">>) -> memref<6xf32, #npu.flash>
    // CHECK: memref.get_global @slow : memref<6xf32, #npu.memory<"xip">> {sram.copy_at = {sram = 8 : i64}}
    %s = memref.get_global @slow : memref<6xf32, #npu.memory<"xip">>
    %slow = "memref.memory_space_cast"(%s) : (memref<6xf32, #npu.memory<"xip">>) -> memref<6xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %quick[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    %w = memref.load %slow[%c0] : memref<6xf32, #npu.flash>
    memref.store %w, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "quick", type = memref<6xf32, #npu.memory<"rom">>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "slow", type = memref<6xf32, #npu.memory<"xip">>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}
