// RUN: npu-opt %s --verify-diagnostics -p 'npu-unroll-loops{steps=-1}' | filecheck %s

// CHECK: npu-unroll-loops: expected steps of at least 0, got -1
func.func @main() {
  func.return
}
