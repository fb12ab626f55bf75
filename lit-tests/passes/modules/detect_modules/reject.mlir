// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=0})' --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-detect-modules: expected a max-depth of at least 1, got 0
func.func @f(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  func.return %x : tensor<1x4xf32>
}
