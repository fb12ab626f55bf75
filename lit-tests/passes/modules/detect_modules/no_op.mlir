// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules,npu-detect-modules)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules)' | filecheck %s --check-prefix=NONE

// NONE-LABEL: func.func @product
// NONE-NOT: npu.module

// CHECK-LABEL: func.func @product
// CHECK: npu.mul {{.*}} {npu.no_module = "it is neither a concatenation nor a sum of maps of one shape"} :
func.func @product(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %a = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.mul %x, %a : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @broadcast
// CHECK: npu.add {{.*}} {npu.no_module = "it is neither a concatenation nor a sum of maps of one shape"} :
func.func @broadcast(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %a = npu.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
  %y = npu.add %x, %a : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// A sum with a constant is a layer like others: nothing to say.
// CHECK-LABEL: func.func @constant
// CHECK: npu.add %x, %k : (
func.func @constant(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %k = arith.constant dense<1.0> : tensor<1x4xf32>
  %y = npu.add %x, %k : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @two_inputs
// CHECK: npu.add {{.*}} {npu.no_module = "its operands have no common start"} :
func.func @two_inputs(%x: tensor<1x4xf32>, %z: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = npu.add %x, %z : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @twice
// CHECK: npu.add {{.*}} {npu.no_module = "its branches have no layers"} :
func.func @twice(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = npu.add %x, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// A branch that splits at its end, without a merge of its own.
// CHECK-LABEL: func.func @shared
// CHECK: npu.concat {{.*}} {npu.no_module = "its operands share prefix"} :
func.func @shared(%x: tensor<1x4xf32>) -> tensor<1x12xf32> {
  %p = npu.relu %x {npu.layer = "prefix"} : tensor<1x4xf32> -> tensor<1x4xf32>
  %a = npu.clamp %p low 0.0 high 1.0 : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = npu.clamp %p low 0.0 high 2.0 : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.concat %a, %b, %x axis 1 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x12xf32>
  func.return %y : tensor<1x12xf32>
}

// A value in a branch that something else needs: another layer, a return, an op that is no layer,
// another layer as its weights.
// CHECK-LABEL: func.func @read_by_layer
// CHECK: npu.add %a, %x {npu.no_module = "%a is read outside its branches too"} :
func.func @read_by_layer(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %a = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %y = npu.add %a, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %z = npu.relu %a : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %y, %z : tensor<1x4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func.func @read_by_others
// CHECK: npu.add {{.*}} {npu.no_module = "returned is read outside its branches too"} :
// CHECK: npu.add {{.*}} {npu.no_module = "used is read outside its branches too"} :
// CHECK: npu.add {{.*}} {npu.no_module = "weights is read outside its branches too"} :
func.func @read_by_others(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = npu.relu %x {npu.layer = "returned"} : tensor<4x4xf32> -> tensor<4x4xf32>
  %0 = npu.add %a, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = npu.relu %x {npu.layer = "used"} : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = npu.add %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  "test.op"(%b) : (tensor<4x4xf32>) -> ()
  %c = npu.relu %x {npu.layer = "weights"} : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = npu.add %c, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = npu.fully_connected %x, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %a : tensor<4x4xf32>
}

// Nobody knows what an op of another dialect does: what it computes starts anew.
// CHECK-LABEL: func.func @other_dialect
// CHECK: npu.add {{.*}} {npu.no_module = "its operands have no common start"} :
func.func @other_dialect(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %a = "test.op"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %y = npu.add %a, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @merge_in_a_branch
// CHECK: npu.mul
// CHECK: npu.add {{.*}} {npu.no_module = "gate in a branch ends no module"} :
func.func @merge_in_a_branch(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %a = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = npu.relu %a : tensor<1x4xf32> -> tensor<1x4xf32>
  %g = npu.mul %a, %b {npu.layer = "gate"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %y = npu.add %g, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @buffers
// CHECK: npu.add ins(%a, %x : memref<1x4xf32>, memref<1x4xf32>) outs(%y : memref<1x4xf32>)
func.func @buffers(%x: memref<1x4xf32>, %a: memref<1x4xf32>, %y: memref<1x4xf32>) {
  npu.relu ins(%x : memref<1x4xf32>) outs(%a : memref<1x4xf32>)
  npu.add ins(%a, %x : memref<1x4xf32>, memref<1x4xf32>) outs(%y : memref<1x4xf32>)
  func.return
}

// CHECK-LABEL: func.func private @declaration
func.func private @declaration(tensor<1x4xf32>) -> tensor<1x4xf32>
