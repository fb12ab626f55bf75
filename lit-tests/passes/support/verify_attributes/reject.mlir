// RUN: npu-opt %s --pass-pipeline='npu-verify-attributes' --verify-diagnostics --split-input-file | filecheck %s
// RUN: npu-opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @type(%x : memref<4xf32>) {
  npu.relu ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {npu.runs = "three"}
  func.return
}
// CHECK: expected npu.runs to be an integer, got "three"

// -----

func.func @argument(%x : memref<4xf32, #npu.sram> {sram.outptu}) {
  func.return
}
// CHECK: unknown attribute sram.outptu: did you mean sram.output?

// -----

func.func @loop(%from : index, %to : index, %step : index) {
  scf.for %i = %from to %to step %step {
    scf.yield
  } {npu.double_bufer}
  func.return
}
// CHECK: unknown attribute npu.double_bufer: did you mean npu.double_buffer?

// -----

func.func @place(%x : memref<4xf32>) {
  npu.relu ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {sram.arena = 16 : i64}
  func.return
}
// CHECK: expected sram.arena on function, got it on npu.relu

// -----

func.func @port(%x : memref<4xf32> {npu.ring = 3 : i64}) {
  func.return
}
// CHECK: expected npu.ring on layer or npu.rows, got it on an argument or a result

// -----

builtin.module attributes {npu.target = "fe310"} {}
// CHECK: expected npu.target to be an #npu.target<...>, got "fe310"

// -----

// Names of other dialects, and all that passes write, are right.
// CHECK-LABEL: func.func @right
func.func @right(%x : memref<4xf32, #npu.sram> {sram.input, sram.offset = 0 : i64, their.mark}) attributes {sram.arena = 16 : i64} {
  "test.op"(%x) {npu.layer = "anybody's", test.double_bufer} : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// -----

func.func @two_copies() {
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {fast = 0 : i64, slow = 16 : i64}}
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: expected sram.copy_at to be a dictionary of one integer of at least 0, got

// -----

func.func @no_constant(%x : memref<4xf32, #npu.sram> {sram.input}) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>) {sram.kept_in = "fast"}
  func.return
}
// CHECK: expected sram.kept_in on memref.get_global, got it on npu.relu
