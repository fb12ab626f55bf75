// RUN: npu-opt %s --split-input-file -p 'npu-keep-state{states="h=next=h","gru","lstm"}' | filecheck %s

// States come last, by name or by layer; a name may hold `=`.
// CHECK-LABEL: func.func @all(%x: tensor<3x1x12xf32> {npu.name = "x"}, %g: tensor<3x1x16xf32>, %h: tensor<1x4xf32> {npu.name = "h", npu.state = "next=h"}, %state: tensor<1x1x4xf32> {npu.name = "gru.state", npu.state = "gru.state.next"}, %state_1: tensor<1x1x4xf32> {npu.name = "lstm.state", npu.state = "lstm.state.next"}, %state_2: tensor<1x1x4xf32> {npu.name = "lstm.cell_state", npu.state = "lstm.cell_state.next"})
// CHECK-SAME: -> (tensor<3x1x4xf32> {npu.name = "y"}, tensor<1x4xf32> {npu.name = "next=h", npu.state = "next=h"}, tensor<1x1x4xf32> {npu.name = "gru.state.next", npu.state = "gru.state.next"}, tensor<1x1x4xf32> {{.*}}, tensor<1x1x4xf32> {npu.name = "lstm.cell_state.next", npu.state = "lstm.cell_state.next"})
func.func @all(%h: tensor<1x4xf32> {npu.name = "h"}, %x: tensor<3x1x12xf32> {npu.name = "x"}, %g: tensor<3x1x16xf32>)
    -> (tensor<1x4xf32> {npu.name = "next=h"}, tensor<3x1x4xf32> {npu.name = "y"}) {
  %r = arith.constant dense<1.0> : tensor<12x4xf32>
  %w = arith.constant dense<1.0> : tensor<16x4xf32>
  %b = arith.constant dense<1.0> : tensor<4xf32>
  %p = arith.constant dense<1.0> : tensor<12xf32>
  // CHECK: %0 = npu.reshape %state {npu.layer = "gru"} : tensor<1x1x4xf32> -> tensor<1x4xf32>
  // CHECK-NEXT: %s = npu.recurrent %x, %r, %0, %b cell gru with [sigmoid, tanh] clip 2.0 linear_before_reset {npu.layer = "gru"}
  %s = npu.recurrent %x, %r, %b cell gru with [sigmoid, tanh] clip 2.0 linear_before_reset {npu.layer = "gru"} : (tensor<3x1x12xf32>, tensor<12x4xf32>, tensor<4xf32>) -> tensor<3x1x4xf32>
  // CHECK: npu.recurrent %g, %w, %{{.*}}, %{{.*}}, %p cell lstm with [sigmoid, tanh, tanh] input_forget {npu.layer = "lstm"}
  %c = npu.recurrent %g, %w, %p cell lstm with [sigmoid, tanh, tanh] input_forget {npu.layer = "lstm"} : (tensor<3x1x16xf32>, tensor<16x4xf32>, tensor<12xf32>) -> tensor<4x1x4xf32>
  %n = npu.relu %h : tensor<1x4xf32> -> tensor<1x4xf32>
  // CHECK: npu.slice %s offsets [2, 0, 0] sizes [1, 1, 4] {{.*}}npu.layer = "gru"
  // CHECK: npu.slice %c offsets [2, 0, 0] sizes [1, 1, 4]
  // CHECK: npu.slice %c offsets [3, 0, 0] sizes [1, 1, 4]
  // CHECK: func.return %s, %n,
  func.return %n, %s : tensor<1x4xf32>, tensor<3x1x4xf32>
}
