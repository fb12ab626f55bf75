// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @slices
// GENERIC-LABEL: sym_name = "slices"
func.func @slices(%x: tensor<1x6x8xf32>, %b: tensor<5xi8>) {
  // CHECK: npu.slice %x offsets [0, 2, 0] sizes [1, 4, 8] : tensor<1x6x8xf32> -> tensor<1x4x8xf32>
  // GENERIC: "npu.slice"(%x) <{offsets = array<i64: 0, 2, 0>, sizes = array<i64: 1, 4, 8>, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<1x6x8xf32>) -> tensor<1x4x8xf32>
  %y = npu.slice %x offsets [0, 2, 0] sizes [1, 4, 8] : tensor<1x6x8xf32> -> tensor<1x4x8xf32>
  // CHECK: npu.slice %b offsets [1] sizes [2] strides [3] {npu.layer = "s"} : tensor<5xi8> -> tensor<2xi8>
  // GENERIC: "npu.slice"(%b) <{{{.*}}strides = array<i64: 3>, operandSegmentSizes
  %z = npu.slice %b offsets [1] sizes [2] strides [3] {npu.layer = "s"} : tensor<5xi8> -> tensor<2xi8>
  func.return
}

// CHECK-LABEL: func.func @picks
// GENERIC-LABEL: sym_name = "picks"
func.func @picks(%x: tensor<1x2x4x5xf32>, %b: tensor<7xui8>) {
  // CHECK: npu.pick %x axis 2 [none, 0 to 3, none] axis 3 [0 to 4 each 2] fill 0.0 : tensor<1x2x4x5xf32> -> tensor<1x2x6x10xf32>
  // GENERIC: "npu.pick"(%x) <{picks = array<i64: 2, -1, 1, 1, 1, 2, 0, 4, 1, 1, 2, -1, 1, 1, 1, 3, 0, 5, 1, 2>, fill = 0.000000e+00 : f64, {{.*}}}> : (tensor<1x2x4x5xf32>) -> tensor<1x2x6x10xf32>
  %y = npu.pick %x axis 2 [none, 0 to 3, none] axis 3 [0 to 4 each 2] fill 0.0 : tensor<1x2x4x5xf32> -> tensor<1x2x6x10xf32>
  // CHECK: npu.pick %b axis 0 [6 to 0 by 3, 2, 4 each 3, none each 2] fill 255.0 : tensor<7xui8> -> tensor<9xui8>
  // GENERIC: picks = array<i64: 0, 6, 3, -3, 1, 0, 2, 1, 1, 1, 0, 4, 1, 1, 3, 0, -1, 1, 1, 2>
  %z = npu.pick %b axis 0 [6 to 0 by 3, 2, 4 each 3, none each 2] fill 255.0 : tensor<7xui8> -> tensor<9xui8>
  // CHECK: npu.pick %x axis 0 [0 each 3] axis 3 [1 to 3 by 2] : tensor<1x2x4x5xf32> -> tensor<3x2x4x2xf32>
  // GENERIC: picks = array<i64: 0, 0, 1, 1, 3, 3, 1, 2, 2, 1>
  %w = npu.pick %x axis 0 [0 each 3] axis 3 [1 to 3 by 2] : tensor<1x2x4x5xf32> -> tensor<3x2x4x2xf32>
  func.return
}

// CHECK-LABEL: func.func @resampled
// GENERIC-LABEL: sym_name = "resampled"
func.func @resampled(%x: tensor<1x2x4x5xf32>) {
  // CHECK: npu.resample %x axis 2 size 8 scale 0.5 offset -0.25 axis 3 size 10 scale 0.5 offset -0.25 : tensor<1x2x4x5xf32> -> tensor<1x2x8x10xf32>
  // GENERIC: "npu.resample"(%x) <{axes = array<f64: 2.000000e+00, 8.000000e+00, 5.000000e-01, -2.500000e-01, 1.000000e+00, 3.000000e+00, 1.000000e+01, 5.000000e-01, -2.500000e-01, 1.000000e+00>, operandSegmentSizes
  %y = npu.resample %x axis 2 size 8 scale 0.5 offset -0.25 axis 3 size 10 scale 0.5 offset -0.25 : tensor<1x2x4x5xf32> -> tensor<1x2x8x10xf32>
  // CHECK: npu.resample %x axis 2 size 3 scale 1.3333333333333333 offset 0.1 width 1.5 cubic -0.75 exclude_outside fill 7.0 {npu.layer = "r"} : tensor<1x2x4x5xf32> -> tensor<1x2x3x5xf32>
  // GENERIC: cubic = -7.500000e-01 : f64, exclude_outside, fill = 7.000000e+00 : f64
  %z = npu.resample %x axis 2 size 3 scale 1.3333333333333333 offset 0.1 width 1.5 cubic -0.75 exclude_outside fill 7.0 {npu.layer = "r"} : tensor<1x2x4x5xf32> -> tensor<1x2x3x5xf32>
  func.return
}

// CHECK-LABEL: func.func @buffers
func.func @buffers(%x: memref<4xf32>, %y: memref<6xf32>) {
  // CHECK: npu.resample ins(%x : memref<4xf32>) outs(%y : memref<6xf32>) axis 0 size 6 scale 0.5 offset 0.0
  npu.resample ins(%x : memref<4xf32>) outs(%y : memref<6xf32>) axis 0 size 6 scale 0.5 offset 0.0
  // CHECK: npu.pick ins(%x : memref<4xf32>) outs(%y : memref<6xf32>) axis 0 [none, 0 to 3, none] fill -inf
  npu.pick ins(%x : memref<4xf32>) outs(%y : memref<6xf32>) axis 0 [none, 0 to 3, none] fill -inf
  func.return
}
