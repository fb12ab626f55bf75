// RUN: npu-opt %s --pass-pipeline=npu-outline-layers | filecheck %s

// Ops of linalg are layers, too. One that uses a value from outside in its body stays where it is.

// CHECK-LABEL: func.func @f
// CHECK: linalg.generic
// CHECK: func.call @fill(%zero, %x) : (f32, memref<4x4xf32, #npu.sram>) -> ()
// CHECK-NEXT: func.call @first_product(%x, %y) {npu.layer = "first product"}
// CHECK: func.func private @fill(%ifm0: f32, %ofm: memref<4x4xf32, #npu.sram>) attributes {npu.what = "linalg.fill"}
// CHECK: func.func private @first_product(%ifm1: memref<4x4xf32, #npu.sram>, %ofm: memref<4x4xf32, #npu.sram>) attributes {npu.layer = "first product", npu.what = "linalg.matmul"}
// CHECK-NEXT: linalg.matmul {npu.layer = "first product"} ins(%ifm1, %ifm1 :
func.func @f(%x: memref<4x4xf32, #npu.sram>, %y: memref<4x4xf32, #npu.sram>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%x : memref<4x4xf32, #npu.sram>) {
  ^bb0(%out: f32):
    %0 = arith.addf %out, %zero : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%x : memref<4x4xf32, #npu.sram>)
  linalg.matmul {npu.layer = "first product"} ins(%x, %x : memref<4x4xf32, #npu.sram>, memref<4x4xf32, #npu.sram>) outs(%y : memref<4x4xf32, #npu.sram>)
  func.return
}
