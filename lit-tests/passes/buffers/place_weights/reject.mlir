// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=-4})' --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-place-weights: expected bytes of at least 0, got -4
func.func @f() {
  func.return
}
