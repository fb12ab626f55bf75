// RUN: npu-opt %s -p npu-store-constants --verify-diagnostics --split-input-file | filecheck %s
// RUN: npu-opt %s -p npu-store-constants{together=true} --verify-diagnostics --split-input-file | filecheck %s --check-prefix=BLOCK

// Two memories of 30 bytes hold no two constants of 24 and one of 8, of which one is never divided.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 60 : i64, memory = [
    {name = "ram", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 30 : i64, read_bytes_per_cycle = 4 : i64, read_only = true},
    {name = "xip", bytes = 30 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network() attributes {sram.arena = 4 : i64} {
    %a = memref.get_global @a : memref<6xf32, #npu.flash>
    %b = memref.get_global @b : memref<6xf32, #npu.flash>
    %c = memref.get_global @c : memref<2xf32, #npu.flash>
    func.return
  }
  "memref.global"() <{sym_name = "a", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "c", type = memref<2xf32, #npu.flash>, initial_value = dense<1.0> : tensor<2xf32>, sym_visibility = "private", constant}> : () -> ()
}
// CHECK: npu-store-constants: the constants do not fit into the read-only memories of board:
// CHECK-NEXT:   rom: {{24|32}} bytes needed, 30 available
// CHECK-NEXT:   xip: {{24|32}} bytes needed, 30 available
// CHECK-NEXT: the largest of 3 constants, a, takes 24
// BLOCK: npu-store-constants: the constants, which are one block, do not fit into the read-only memories of board:

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 128 : i64, memory = [
    {name = "ram", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64, read_only = true},
    {name = "xip", bytes = 64 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %w = memref.get_global @w : memref<6xf32, #npu.memory<"xip">>
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.memory<"xip">>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.memory<"xip">>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
}
// CHECK: expected a constant whose memory is not chosen yet, got #npu.memory<"xip">
