// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' --verify-diagnostics --split-input-file | filecheck %s

func.func @other_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: npu-bufferize: expected layers only, got test.op

// -----

func.func @control_flow(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %y = scf.if %c -> (tensor<4xf32>) {
    %z = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
// CHECK: npu-bufferize: expected layers only, got scf.if

// -----

func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  func.return %x : tensor<4xf32>
}
// CHECK: npu-bufferize: expected one block, got 2: control flow is not supported

// -----

func.func private @hidden(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// CHECK: npu-bufferize: expected public functions, got private @hidden

// -----

func.func @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// CHECK: npu-bufferize: expected layers only, got func.call

// -----

func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @refers() {
  "test.op"() {callee = @inner} : () -> ()
  func.return
}
// CHECK: npu-bufferize: expected functions that nothing refers to, got @inner

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}
// CHECK: npu-bufferize: expected static shapes, got tensor<?xf32>

// -----

func.func @external(tensor<4xf32>) -> tensor<4xf32>
// CHECK: npu-bufferize: expected a function with a body: the layout of an external one is unknown

// -----

func.func @no_result(%x: tensor<4xf32> {npu.state = "s"}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// CHECK: npu-bufferize: expected one argument and one result of state 's'

// -----

func.func @other_type(%x: tensor<4xf32> {npu.state = "s"}) -> (tensor<2x2xf32> {npu.state = "s"}) {
  %y = npu.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
// CHECK: npu-bufferize: expected tensors of one type for state 's', got tensor<4xf32> and tensor<2x2xf32>
