// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules,npu-detect-modules)' | filecheck %s

// Branches in the order of their first layers; `part` is the place in the merge; the name is what
// the layers' names begin with.
// CHECK-LABEL: func.func @concatenation
// CHECK-NEXT: %s = npu.relu %x
// CHECK-NEXT: %y = npu.module concat axis 1 of %s {npu.layer = "fire", npu.value = "y", npu.merge = "fire/concat"} : tensor<1x4xf32> -> tensor<1x8xf32> {
// CHECK-NEXT: npu.branch part 1 {
// CHECK-NEXT: %a = npu.clamp %s low 0.0 high 1.0
// CHECK-NEXT: npu.yield %a : tensor<1x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: npu.branch part 0 {
// CHECK-NEXT: %b = npu.clamp %s low 0.0 high 2.0
// CHECK-NEXT: %c = npu.relu %b
// CHECK-NEXT: npu.yield %c : tensor<1x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: npu.relu %y
func.func @concatenation(%x: tensor<1x4xf32>) -> tensor<1x8xf32> {
  %s = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %a = npu.clamp %s low 0.0 high 1.0 {npu.layer = "fire/small"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = npu.clamp %s low 0.0 high 2.0 {npu.layer = "fire/large"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %c = npu.relu %b {npu.layer = "fire/large/relu"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.concat %c, %a axis 1 {npu.layer = "fire/concat", npu.value = "y"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
  %z = npu.relu %y : tensor<1x8xf32> -> tensor<1x8xf32>
  func.return %z : tensor<1x8xf32>
}

// A residual block: the identity is a branch without layers, and comes last. Other work stays
// where it is, before the module.
// CHECK-LABEL: func.func @residual
// CHECK: %other = npu.relu %z
// CHECK-NEXT: %y = npu.module add of %x {npu.layer = "add"} : tensor<1x4xf32> -> tensor<1x4xf32> {
// CHECK-NEXT: npu.branch part 1 {
// CHECK-NEXT: npu.fully_connected %x, %w
// CHECK-NEXT: npu.yield
// CHECK-NEXT: }
// CHECK-NEXT: npu.branch part 0 {
// CHECK-NEXT: npu.yield %x : tensor<1x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: npu.relu %y
func.func @residual(%x: tensor<1x4xf32>, %z: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %w = arith.constant dense<1.0> : tensor<4x4xf32>
  %f = npu.fully_connected %x, %w {npu.layer = "fc"} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %other = npu.relu %z : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.add %x, %f {npu.layer = "add"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %r = npu.relu %y : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %r, %other : tensor<1x4xf32>, tensor<1x4xf32>
}

// A branch that splits again: a module in a branch. It would have the name of the one around it,
// and keeps that of its merge.
// CHECK-LABEL: func.func @nested
// CHECK: npu.module concat axis 1 of %x {npu.layer = "c1", npu.merge = "c1/concat"} :
// CHECK-NEXT: npu.branch part 0 {
// CHECK-NEXT: %a = npu.relu %x
// CHECK-NEXT: %n = npu.module add of %a {npu.layer = "c1/sum"} :
// CHECK-NEXT: npu.branch part 0 {
// CHECK-NEXT: %b = npu.clamp %a
// CHECK-NEXT: npu.yield %b
// CHECK: npu.branch part 1 {
// CHECK-NEXT: %c = npu.clamp %a
// CHECK-NEXT: npu.yield %c
// CHECK: npu.yield %n
// CHECK: npu.branch part 1 {
// CHECK-NEXT: %d = npu.relu %x
func.func @nested(%x: tensor<1x4xf32>) -> tensor<1x8xf32> {
  %a = npu.relu %x {npu.layer = "c1/a"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = npu.clamp %a low 0.0 high 1.0 {npu.layer = "c1/b"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %c = npu.clamp %a low 0.0 high 2.0 {npu.layer = "c1/c"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %n = npu.add %b, %c {npu.layer = "c1/sum"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %d = npu.relu %x {npu.layer = "c1/d"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.concat %n, %d axis 1 {npu.layer = "c1/concat"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// Growing concatenations are modules one after another.
// CHECK-LABEL: func.func @dense
// CHECK-NEXT: %b = npu.module concat axis 1 of %x :
// CHECK-NEXT: npu.branch part 1 {
// CHECK-NEXT: %a = npu.relu %x
// CHECK: npu.branch part 0 {
// CHECK-NEXT: npu.yield %x
// CHECK: %d = npu.module concat axis 1 of %b :
// CHECK-NEXT: npu.branch part 1 {
// CHECK-NEXT: %c = npu.relu %b
// CHECK: npu.branch part 0 {
// CHECK-NEXT: npu.yield %b
func.func @dense(%x: tensor<1x4xf32>) -> tensor<1x16xf32> {
  %a = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = npu.concat %x, %a axis 1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
  %c = npu.relu %b : tensor<1x8xf32> -> tensor<1x8xf32>
  %d = npu.concat %b, %c axis 1 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x16xf32>
  func.return %d : tensor<1x16xf32>
}
