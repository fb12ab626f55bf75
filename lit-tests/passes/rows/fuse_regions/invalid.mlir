// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{max-slowdown=-1}' --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-fuse-regions: expected a slowdown of 0 % or more, got -1
func.func @f() {
  func.return
}
