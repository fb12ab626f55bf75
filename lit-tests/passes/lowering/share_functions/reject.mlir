// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='builtin.module(npu-share-functions{scalars=-1})' | filecheck %s

// CHECK: npu-share-functions: expected scalars of at least 0, got -1
func.func @main() {
  func.return
}
