// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=1000})' | filecheck %s

// A layer that multiplies nothing reads its parameters once for each pixel.

// CHECK-LABEL: func.func @batch_norm
// CHECK-COUNT-4: "memref.copy"
// CHECK: npu.batch_norm
"memref.global"() <{sym_name = "p", sym_visibility = "private", type = memref<2xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "q", sym_visibility = "private", type = memref<2xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "r", sym_visibility = "private", type = memref<2xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "s", sym_visibility = "private", type = memref<2xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2xf32>, constant}> : () -> ()
func.func @batch_norm(%x: memref<1x2x4x4xf32, #npu.sram>, %y: memref<1x2x4x4xf32, #npu.sram>) {
  %p = memref.get_global @p : memref<2xf32, #npu.flash>
  %q = memref.get_global @q : memref<2xf32, #npu.flash>
  %r = memref.get_global @r : memref<2xf32, #npu.flash>
  %s = memref.get_global @s : memref<2xf32, #npu.flash>
  npu.batch_norm ins(%x, %p, %q, %r, %s : memref<1x2x4x4xf32, #npu.sram>, memref<2xf32, #npu.flash>, memref<2xf32, #npu.flash>, memref<2xf32, #npu.flash>, memref<2xf32, #npu.flash>) outs(%y : memref<1x2x4x4xf32, #npu.sram>) epsilon 0.5
  func.return
}
