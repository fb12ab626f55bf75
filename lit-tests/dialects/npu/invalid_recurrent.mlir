// RUN: NPU_DIAGNOSTICS

func.func @f(%g: tensor<5x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected gates of rank 3, got tensor<5x4xf32>

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] : (tensor<5x2x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a weight of rank 2, got tensor<4xf32>

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell gru with [sigmoid, tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected gates [T, B, 3 * H] of at least one step and a weight [3 * H, H], got tensor<5x2x4xf32> and tensor<4x4xf32>

// -----

func.func @f(%g: tensor<0x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] : (tensor<0x2x4xf32>, tensor<4x4xf32>) -> tensor<0x2x4xf32>
  func.return
}
// CHECK: of at least one step

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<1x4xf32>) {
  %y = npu.recurrent %g, %r, %h cell rnn with [tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a state of shape [2, 4], got tensor<1x4xf32>

// -----

func.func @f(%g: tensor<5x2x16xf32>, %r: tensor<16x4xf32>, %h: tensor<2x4xf32>, %c: tensor<2x3xf32>) {
  %y = npu.recurrent %g, %r, %h, %c cell lstm with [sigmoid, tanh, tanh] : (tensor<5x2x16xf32>, tensor<16x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<6x2x4xf32>
  func.return
}
// CHECK: expected a cell state of shape [2, 4], got tensor<2x3xf32>

// -----

func.func @f(%g: tensor<5x2x12xf32>, %r: tensor<12x4xf32>, %b: tensor<3xf32>) {
  %y = npu.recurrent %g, %r, %b cell gru with [sigmoid, tanh] linear_before_reset : (tensor<5x2x12xf32>, tensor<12x4xf32>, tensor<3xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a bias of shape [4], got tensor<3xf32>

// -----

func.func @f(%g: tensor<5x2x16xf32>, %r: tensor<16x4xf32>, %p: tensor<4xf32>) {
  %y = npu.recurrent %g, %r, %p cell lstm with [sigmoid, tanh, tanh] : (tensor<5x2x16xf32>, tensor<16x4xf32>, tensor<4xf32>) -> tensor<6x2x4xf32>
  func.return
}
// CHECK: expected peepholes of shape [12], got tensor<4xf32>

// -----

func.func @f(%g: tensor<5x2x12xf32>, %r: tensor<12x4xf32>) {
  %y = npu.recurrent %g, %r cell gru with [sigmoid, tanh] linear_before_reset : (tensor<5x2x12xf32>, tensor<12x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected gates, weight, 1 states or none, and the vector of the cell, got 2 operands

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>, %b: tensor<2x4xf32>) {
  %y = npu.recurrent %g, %r, %h, %b cell rnn with [tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected gates, weight, 1 states or none, and the vector of the cell, got 4 operands

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] linear_before_reset : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a bias and linear_before_reset, or none of both

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] input_forget : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected input_forget of cell lstm only, got cell rnn

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh, tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected 1 functions or bounds of cell rnn, without parameters by channel

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [prelu [0.5, 0.25]] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected 1 functions or bounds of cell rnn, without parameters by channel

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [sinus] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected relu, clamp, or one of abs, 

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell tree with [tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected cell rnn or gru or lstm, got tree

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] clip 0.0 : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a positive clip, got 0.0

// -----

func.func @f(%g: tensor<5x2x16xf32>, %r: tensor<16x4xf32>) {
  %y = npu.recurrent %g, %r cell lstm with [sigmoid, tanh, tanh] : (tensor<5x2x16xf32>, tensor<16x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected an output of shape [6, 2, 4], got [5, 2, 4]

// -----

func.func @f(%g: tensor<5x2x4xi8>, %r: tensor<4x4xf32>) {
  %y = npu.recurrent %g, %r cell rnn with [tanh] : (tensor<5x2x4xi8>, tensor<4x4xf32>) -> tensor<5x2x4xi8>
  func.return
}
// CHECK: expected operands with elements of type i8, got tensor<4x4xf32>

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) {
  %y = "npu.recurrent"(%g, %r, %h) <{cell = #npu<cell rnn>, functions = [#npu.function<tanh>], operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0>}> : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a cell state beside the state of an LSTM only

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) {
  %y = "npu.recurrent"(%g, %r, %h) <{cell = #npu<cell rnn>, functions = [#npu.function<tanh>], operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0>}> : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected a bias and linear_before_reset, or none of both

// -----

func.func @f(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) {
  %y = "npu.recurrent"(%g, %r, %h) <{cell = #npu<cell rnn>, functions = [#npu.function<tanh>], operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1, 0>}> : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<5x2x4xf32>
  func.return
}
// CHECK: expected peepholes of an LSTM only, got cell rnn
