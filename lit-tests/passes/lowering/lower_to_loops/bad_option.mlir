// RUN: npu-opt %s --pass-pipeline='npu-lower-to-loops{unroll=0}' --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-lower-to-loops: expected registers of at least 0 and unroll of at least 1, got 16 and 0
func.func @f() {
  func.return
}
