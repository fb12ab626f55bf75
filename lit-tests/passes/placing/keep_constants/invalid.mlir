// RUN: npu-opt %s -p npu-keep-constants --verify-diagnostics --split-input-file | filecheck %s

func.func @twice() attributes {sram.arena = 64 : i64, sram.ready = {sram = 0 : i64}} {
  %w = memref.get_global @w : memref<6xf32, #npu.flash> {sram.copy_at = {sram = 4 : i64}}
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: expected no sram.copy_at: this pass has run already

// -----

func.func @one() attributes {sram.arena = 64 : i64} {
  func.return
}
func.func @other() attributes {sram.arena = 32 : i64} {
  func.return
}
// CHECK: expected the same arenas in all functions of a program
