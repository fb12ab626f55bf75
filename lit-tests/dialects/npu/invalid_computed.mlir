// RUN: npu-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected a body that ends with npu.yield of what it computes
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.computed %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    npu.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: expected an op that says how it computes, got tensor.empty
func.func @nobody(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.computed %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = tensor.empty() : tensor<4xf32>
    npu.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: expected one op in the body, got npu.relu, too
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.computed %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = npu.relu %a : tensor<4xf32> -> tensor<4xf32>
    %1 = npu.relu %0 : tensor<4xf32> -> tensor<4xf32>
    npu.yield %1 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: expected 1 block arguments, got 2
func.func @arguments(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.computed %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = npu.relu %a : tensor<4xf32> -> tensor<4xf32>
    npu.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// CHECK: expected a body with the types of operands and result
func.func @types(%x: tensor<8xf32>) -> tensor<4xf32> {
  %y = npu.computed %x : (tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = npu.relu %a : tensor<4xf32> -> tensor<4xf32>
    npu.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
