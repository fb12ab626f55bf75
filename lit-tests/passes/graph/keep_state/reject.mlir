// RUN: npu-opt %s -p 'npu-keep-state{states="h=n"}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: npu-opt %s -p 'npu-keep-state{states="cell"}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix=CELL

func.func @type(%h: tensor<4xf32> {npu.name = "h"}) -> (tensor<2x2xf32> {npu.name = "n"}) {
  %y = npu.reshape %h : tensor<4xf32> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
// CHECK-LABEL: npu-keep-state: 'h=n': expected an input and an output of one type, got tensor<4xf32> and tensor<2x2xf32>
// CELL-LABEL: npu-keep-state: no state 'cell': expected INPUT=OUTPUT or a recurrent layer; inputs: h; outputs: n; recurrent layers: none

// -----

func.func @scale(%h: tensor<4xi8> {npu.name = "h", npu.scale = 0.5 : f32, npu.zero_point = 0 : i64})
    -> (tensor<4xi8> {npu.name = "n", npu.scale = 0.25 : f32, npu.zero_point = 0 : i64}) {
  func.return %h : tensor<4xi8>
}
// CHECK: npu-keep-state: 'h=n': expected an input and an output of one type, got tensor<4xi8> and tensor<4xi8> with other scales

// -----

func.func @twice(%h: tensor<4xf32> {npu.name = "h", npu.state = "m"})
    -> (tensor<4xf32> {npu.name = "n"}, tensor<4xf32> {npu.name = "m", npu.state = "m"}) {
  func.return %h, %h : tensor<4xf32>, tensor<4xf32>
}
// CHECK: npu-keep-state: 'h=n': expected each input and each output in one state only

// -----

func.func @backwards(%g: tensor<3x1x4xf32>, %r: tensor<4x4xf32>) -> tensor<3x1x4xf32> {
  %y = npu.recurrent %g, %r cell rnn with [tanh] reverse {npu.layer = "cell"} : (tensor<3x1x4xf32>, tensor<4x4xf32>) -> tensor<3x1x4xf32>
  func.return %y : tensor<3x1x4xf32>
}
// CHECK: npu-keep-state: no state 'h=n': expected INPUT=OUTPUT or a recurrent layer; inputs: none; outputs: none; recurrent layers: cell
// CELL: npu-keep-state: 'cell' runs backwards: expected a layer that starts from zeros, forwards

// -----

func.func @given(%g: tensor<3x1x4xf32>, %r: tensor<4x4xf32>, %s: tensor<1x4xf32>) -> tensor<3x1x4xf32> {
  %y = npu.recurrent %g, %r, %s cell rnn with [tanh] {npu.layer = "cell"} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<3x1x4xf32>
  func.return %y : tensor<3x1x4xf32>
}
// CELL: npu-keep-state: 'cell' has an initial state: expected a layer that starts from zeros, forwards

// -----

func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// CHECK: npu-keep-state: expected one public function of one block
