// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules)' | filecheck %s

// Without modules nothing happens, and no machine is needed.
// CHECK-LABEL: builtin.module {
// CHECK-NEXT: func.func @chain(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
// CHECK-NEXT: %y = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %y
func.func @chain(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %y = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}
