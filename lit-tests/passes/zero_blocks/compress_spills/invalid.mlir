// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='npu-compress-spills{block-size=0}' | filecheck %s

func.func @f() {
  func.return
}
// CHECK: npu-compress-spills: expected a block-size of at least 1, got 0
