// RUN: npu-opt %s -p 'npu-estimate-instructions{core="cortex-m4"}' --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-estimate-instructions: expected a loop whose bounds follow from constants and other loops
func.func @net(%n: index, %x: memref<4xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %x[%i] : memref<4xf32, #npu.sram>
  }
  func.return
}
