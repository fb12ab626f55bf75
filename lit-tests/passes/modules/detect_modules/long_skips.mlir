// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=2})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=2},npu-detect-modules{max-depth=2})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=3})' | filecheck %s --check-prefix=DEEPER

// Of the two ways to the outer merge one is three layers long (the merge inside counts, the
// activation does not): the other one is cut. What is left is a chain with a module in it.
// CHECK-LABEL: func.func @skip
// CHECK: npu.module add of
// CHECK: npu.concat {{.*}} axis 1 {npu.no_module = "stem comes over a long skip-connection", npu.long_skips = array<i64: 1>} :
// DEEPER-LABEL: func.func @skip
// DEEPER: npu.module concat
// DEEPER: npu.module add
// DEEPER-NOT: npu.long_skips
func.func @skip(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x8xf32> {
  %s = npu.fully_connected %x, %w {npu.layer = "stem"} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %a = npu.fully_connected %s, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %b = npu.fully_connected %a, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %c = npu.add %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %d = npu.relu %c : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.concat %d, %s axis 1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// Both branches have layers: no edge is a skip-connection, but the module is too deep.
// CHECK-LABEL: func.func @deep
// CHECK: npu.add {{.*}} {npu.no_module = "a branch is longer than max-depth = 2"} :
// DEEPER-LABEL: func.func @deep
// DEEPER: npu.module add
func.func @deep(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x4xf32> {
  %a = npu.fully_connected %x, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %b = npu.fully_connected %a, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %c = npu.fully_connected %b, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %d = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.add %c, %d : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
