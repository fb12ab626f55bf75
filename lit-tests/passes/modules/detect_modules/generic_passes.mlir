// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules,dce,cse,canonicalize)' | filecheck %s

// Branches have no results, and yet are alive; a module that nobody reads is dead.
// CHECK-LABEL: func.func @f
// CHECK-NEXT: %a = npu.module add of %x :
// CHECK-NEXT: npu.branch part 0 {
// CHECK-NEXT: npu.relu %x
// CHECK: npu.branch part 1 {
// CHECK-NEXT: npu.yield %x
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %a
func.func @f(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %r = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %a = npu.add %r, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %c = npu.clamp %x low 0.0 high 1.0 : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = npu.add %c, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %a : tensor<1x4xf32>
}
