// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @pairs
// GENERIC-LABEL: sym_name = "pairs"
func.func @pairs(%a: tensor<1x6x4x4xf32>, %b: tensor<6x1x1xf32>, %i: tensor<4xi32>, %q: tensor<4xi8>, %t: tensor<4xui8>) {
  // CHECK: npu.binary %a, %b with sub {npu.layer = "s"} : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
  // GENERIC: "npu.binary"(%a, %b) <{kind = #npu<binary_kind sub>, operandSegmentSizes = array<i32: 1, 1, 0>}> {npu.layer = "s"} : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
  %0 = npu.binary %a, %b with sub {npu.layer = "s"} : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
  // CHECK: with pow :
  %1 = npu.binary %b, %a with pow : (tensor<6x1x1xf32>, tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  // CHECK: with less_or_equal : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xui8>
  %2 = npu.binary %a, %b with less_or_equal : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xui8>
  // CHECK: with mod : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = npu.binary %i, %i with mod : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: with max : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %4 = npu.binary %q, %q with max : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  // CHECK: with xor : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %5 = npu.binary %t, %t with xor : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  // CHECK: npu.where %t, %i, %i : (tensor<4xui8>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %6 = npu.where %t, %i, %i : (tensor<4xui8>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: npu.cast %i : tensor<4xi32> -> tensor<4xf32>
  %7 = npu.cast %i : tensor<4xi32> -> tensor<4xf32>
  func.return
}

// CHECK-LABEL: func.func @buffers
func.func @buffers(%a: memref<2x4xf32>, %b: memref<4xf32>, %c: memref<2x4xui8>) {
  // CHECK: npu.binary ins(%a, %b : memref<2x4xf32>, memref<4xf32>) outs(%c : memref<2x4xui8>) with equal
  npu.binary ins(%a, %b : memref<2x4xf32>, memref<4xf32>) outs(%c : memref<2x4xui8>) with equal
  // CHECK: npu.where ins(%c, %a, %b : memref<2x4xui8>, memref<2x4xf32>, memref<4xf32>) outs(%a : memref<2x4xf32>)
  npu.where ins(%c, %a, %b : memref<2x4xui8>, memref<2x4xf32>, memref<4xf32>) outs(%a : memref<2x4xf32>)
  func.return
}

// CHECK-LABEL: func.func @reductions
// GENERIC-LABEL: sym_name = "reductions"
func.func @reductions(%x: tensor<2x3x4xf32>, %q: tensor<2x3x4xui8>) {
  // CHECK: npu.reduce %x with mean axes [0, 2] : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
  // GENERIC: "npu.reduce"(%x) <{kind = #npu<reduce_kind mean>, axes = array<i64: 0, 2>, operandSegmentSizes = array<i32: 1, 0>}>
  %0 = npu.reduce %x with mean axes [0, 2] : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
  // CHECK: npu.reduce %x with log_sum_exp axes [] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %1 = npu.reduce %x with log_sum_exp axes [] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: npu.reduce %q with argmin axes [1] last : tensor<2x3x4xui8> -> tensor<2x1x4xi32>
  // GENERIC: last
  %2 = npu.reduce %q with argmin axes [1] last : tensor<2x3x4xui8> -> tensor<2x1x4xi32>
  // CHECK: npu.softmax %x axis 1 log : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  // GENERIC: "npu.softmax"(%x) <{axis = 1 : i64, log, operandSegmentSizes = array<i32: 1, 0>}>
  %3 = npu.softmax %x axis 1 log : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @quantised
// GENERIC-LABEL: sym_name = "quantised"
func.func @quantised(%a: tensor<1x6x4x4xi8>, %g: tensor<1x6x1x1xui8>) {
  // CHECK: npu.quantized_binary %a, %g with mul scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode float : (tensor<1x6x4x4xi8>, tensor<1x6x1x1xui8>) -> tensor<1x6x4x4xi8>
  // GENERIC: "npu.quantized_binary"(%a, %g) <{kind = #npu<binary_kind mul>, scales = array<f32: 5.000000e-01, 2.500000e-01, 7.500000e-01>, zero_points = array<i64: 0, 3, -128>, mode = #npu<mode float>, operandSegmentSizes = array<i32: 1, 1, 0>}>
  %0 = npu.quantized_binary %a, %g with mul scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode float : (tensor<1x6x4x4xi8>, tensor<1x6x1x1xui8>) -> tensor<1x6x4x4xi8>
  // CHECK: with max scales {{.*}} mode fixed
  %1 = npu.quantized_binary %a, %g with max scales [0.5, 0.25, 0.75] zero_points [0, 3, -128] mode fixed : (tensor<1x6x4x4xi8>, tensor<1x6x1x1xui8>) -> tensor<1x6x4x4xi8>
  func.return
}
