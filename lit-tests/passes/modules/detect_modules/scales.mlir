// RUN: npu-opt %s -p npu-detect-modules,npu-verify-attributes | filecheck %s --check-prefix MODULE
// RUN: npu-opt %s -p npu-detect-modules,npu-inline-modules,npu-verify-attributes | filecheck %s

// The scale and zero point of a merge of integers are those of its module, until it is inlined.
// MODULE-LABEL: func.func @quantised
// MODULE: npu.module concat axis 1 of %x {{.*}}npu.scale = 5.000000e-01 : f32, npu.zero_point = 3 : i64
// CHECK-LABEL: func.func @quantised
// CHECK: npu.concat {{.*}}npu.scale = 5.000000e-01 : f32, npu.zero_point = 3 : i64
func.func @quantised(%x: tensor<1x4xi8>) -> tensor<1x8xi8> {
  %a = npu.relu %x : tensor<1x4xi8> -> tensor<1x4xi8>
  %b = npu.clamp %x low 1 high 5 : tensor<1x4xi8> -> tensor<1x4xi8>
  %y = npu.concat %a, %b axis 1 {npu.layer = "concat", npu.scale = 5.000000e-01 : f32, npu.zero_point = 3 : i64} : (tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x8xi8>
  func.return %y : tensor<1x8xi8>
}
