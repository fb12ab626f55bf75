// RUN: npu-opt %s --verify-diagnostics -p 'npu-unroll-loops{steps=-1}' | filecheck %s
// RUN: npu-opt %s --verify-diagnostics -p 'npu-unroll-loops{own-steps=-1}' | filecheck %s --check-prefix=OWN

// CHECK: npu-unroll-loops: expected steps of at least 0, got -1
// OWN: npu-unroll-loops: expected own-steps of at least 0, got -1
func.func @main() {
  func.return
}
