// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @normalised
// GENERIC-LABEL: sym_name = "normalised"
func.func @normalised(%x: tensor<1x7x64xf32>, %s: tensor<64xf32>, %b: tensor<7x1xf32>, %m: memref<4x2xf32>) {
  // CHECK: npu.normalize %x axes [1, 2] epsilon 0.0 : tensor<1x7x64xf32> -> tensor<1x7x64xf32>
  // GENERIC: "npu.normalize"(%x) <{axes = array<i64: 1, 2>, epsilon = 0.000000e+00 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
  %plain = npu.normalize %x axes [1, 2] epsilon 0.0 : tensor<1x7x64xf32> -> tensor<1x7x64xf32>
  // CHECK: npu.normalize %x, %s axes [2] epsilon 1.0e-05 rms : (tensor<1x7x64xf32>, tensor<64xf32>) -> tensor<1x7x64xf32>
  // GENERIC: "npu.normalize"(%x, %s) <{axes = array<i64: 2>, epsilon = {{.*}} : f64, rms, operandSegmentSizes = array<i32: 1, 1, 0, 0>}>
  %rms = npu.normalize %x, %s axes [2] epsilon 1.0e-05 rms : (tensor<1x7x64xf32>, tensor<64xf32>) -> tensor<1x7x64xf32>
  // CHECK: npu.normalize %x, %s, %b axes [2] epsilon 1.0e-05 {npu.layer = "n"} : (tensor<1x7x64xf32>, tensor<64xf32>, tensor<7x1xf32>) -> tensor<1x7x64xf32>
  %all = npu.normalize %x, %s, %b axes [2] epsilon 1.0e-05 {npu.layer = "n"} : (tensor<1x7x64xf32>, tensor<64xf32>, tensor<7x1xf32>) -> tensor<1x7x64xf32>
  // CHECK: npu.normalize ins(%m : memref<4x2xf32>) outs(%m : memref<4x2xf32>) axes [0] epsilon 1.0e-05
  npu.normalize ins(%m : memref<4x2xf32>) outs(%m : memref<4x2xf32>) axes [0] epsilon 1.0e-05
  func.return
}
