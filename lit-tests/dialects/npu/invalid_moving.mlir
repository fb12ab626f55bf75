// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<4x6xf32>) {
  %y = npu.slice %x offsets [1] sizes [2] : tensor<4x6xf32> -> tensor<2xf32>
  func.return
}
// CHECK: expected 2 offsets, sizes and strides

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %y = npu.slice %x offsets [1, 0] sizes [2, 3] strides [3, 2] : tensor<4x6xf32> -> tensor<2x3xf32>
  func.return
}
// CHECK: expected elements of axis 0 in [0, 4), got 2 from 1 by 3

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %y = npu.slice %x offsets [-1, 0] sizes [2, 3] : tensor<4x6xf32> -> tensor<2x3xf32>
  func.return
}
// CHECK: expected elements of axis 0 in [0, 4), got 2 from -1 by 1

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %y = npu.slice %x offsets [0, 0] sizes [2, 0] : tensor<4x6xf32> -> tensor<2x0xf32>
  func.return
}
// CHECK: expected elements of axis 1 in [0, 6), got 0 from 0 by 1

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %y = npu.slice %x offsets [0, 0] sizes [2, 3] strides [1, -1] : tensor<4x6xf32> -> tensor<2x3xf32>
  func.return
}
// CHECK: expected elements of axis 1 in [0, 6), got 3 from 0 by -1

// -----

func.func @f(%x: memref<4xf32>, %y: memref<2xf32>) {
  npu.slice ins(%x : memref<4xf32>) outs(%y : memref<2xf32>) offsets [0] sizes [2]
  func.return
}
// CHECK: expected a tensor: a slice of a buffer is a view, not a copy

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.pick %x axis 0 [0 to 4] : tensor<4xf32> -> tensor<5xf32>
  func.return
}
// CHECK: expected indices of axis 0 in [0, 4), got 0 to 4

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.pick %x axis 1 [0 to 3] : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// CHECK: expected ascending axes in [0, 1), got [1]

// -----

func.func @f(%x: tensor<4x4xf32>) {
  %y = "npu.pick"(%x) <{picks = array<i64: 1, 0, 4, 1, 1, 0, 0, 4, 1, 1>, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}
// CHECK: expected ascending axes in [0, 2), got [1, 0]

// -----

func.func @f(%x: tensor<4x4xf32>) {
  %y = npu.pick %x axis 1 [0] axis 1 [0] : tensor<4x4xf32> -> tensor<4x2xf32>
  func.return
}
// CHECK: expected axis 1 once

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.pick %x axis 0 [0 to 3 by 2] : tensor<4xf32> -> tensor<2xf32>
  func.return
}
// CHECK: expected a step from 0 to 3, got 2

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.pick %x axis 0 [0 to 3 each 0] : tensor<4xf32> -> tensor<0xf32>
  func.return
}
// CHECK: expected runs of at least one index, got 0 to 3

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = "npu.pick"(%x) <{picks = array<i64: 0, -1, 2, 1, 1>, fill = 1.0 : f64, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}
// CHECK: expected a run of none without steps

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = "npu.pick"(%x) <{picks = array<i64: 0, 1>, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}
// CHECK: expected runs of 5 numbers, got 2 numbers

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.pick %x axis 0 [none, 0] : tensor<4xf32> -> tensor<2xf32>
  func.return
}
// CHECK: expected `fill` if and only if there is an index none

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.pick %x axis 0 [0 each 2] fill 1.0 : tensor<4xf32> -> tensor<2xf32>
  func.return
}
// CHECK: expected `fill` if and only if there is an index none

// -----

func.func @f(%x: tensor<4xui8>) {
  %y = npu.pick %x axis 0 [none, 0] fill -1.0 : tensor<4xui8> -> tensor<2xui8>
  func.return
}
// CHECK: expected a fill in [0, 255], got -1.0

// -----

func.func @f(%x: tensor<4xi8>) {
  %y = npu.pick %x axis 0 [none, 0] fill 1.5 : tensor<4xi8> -> tensor<2xi8>
  func.return
}
// CHECK: expected a fill in [-128, 127], got 1.5

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.resample %x axis 1 size 8 scale 0.5 offset 0.0 : tensor<4xf32> -> tensor<8xf32>
  func.return
}
// CHECK: expected ascending axes in [0, 1), got [1]

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.resample %x axis 0 size 0 scale 0.5 offset 0.0 : tensor<4xf32> -> tensor<0xf32>
  func.return
}
// CHECK: expected elements along axis 0, got 4 that become 0

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.resample %x axis 0 size 2 scale 2.0 offset 0.0 width 9.0 : tensor<4xf32> -> tensor<2xf32>
  func.return
}
// CHECK: expected a width of axis 0 in [1, 8], got 9.0

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = npu.resample %x axis 0 size 2 scale inf offset 0.0 : tensor<4xf32> -> tensor<2xf32>
  func.return
}
// CHECK: expected 5 finite numbers for each axis

// -----

func.func @f(%x: tensor<4xi8>) {
  %y = npu.resample %x axis 0 size 8 scale 0.5 offset 0.0 : tensor<4xi8> -> tensor<8xi8>
  func.return
}
// CHECK: expected elements of type f32, got i8
