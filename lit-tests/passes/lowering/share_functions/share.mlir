// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-share-functions)' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-share-functions,npu-share-functions)' | filecheck %s

// Constants that differ are passed; one that is the same everywhere stays where it is.
// CHECK-LABEL: func.func @weights
// CHECK-NEXT: %a_w = memref.get_global @a_w : memref<4xf32, #npu.flash>
// CHECK-NEXT: func.call @a(%x, %a_w) {npu.layer = "a", npu.value = "a.out"} :
// CHECK-SAME: (memref<4xf32>, memref<4xf32, #npu.flash>) -> ()
// CHECK-NEXT: %b_w = memref.get_global @b_w : memref<4xf32, #npu.flash>
// CHECK-NEXT: func.call @a(%x, %b_w) {npu.layer = "b", npu.value = "b.out"} :
// CHECK-NEXT: %a_w_1 = memref.get_global @a_w : memref<4xf32, #npu.flash>
// CHECK-NEXT: func.call @a(%x, %a_w_1) {npu.layer = "a"} :
// CHECK-NEXT: func.return
// CHECK: func.func private @a(%ofm: memref<4xf32>, %w: memref<4xf32, #npu.flash>)
// CHECK-SAME: {npu.layer = "a, b", npu.what = "npu.mul scales ... by [2, 2]"}
// CHECK-NEXT: %same = memref.get_global @same :
// CHECK-NEXT: memref.copy
// CHECK-NOT: func.func private @b
"memref.global"() <{sym_name = "a_w", sym_visibility = "private", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "b_w", sym_visibility = "private", type = memref<4xf32, #npu.flash>, initial_value = dense<2.0> : tensor<4xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "same", sym_visibility = "private", type = memref<4xf32, #npu.flash>, initial_value = dense<3.0> : tensor<4xf32>, constant}> : () -> ()
func.func @weights(%x: memref<4xf32>) {
  func.call @a(%x) {npu.layer = "a", npu.value = "a.out"} : (memref<4xf32>) -> ()
  func.call @b(%x) {npu.layer = "b", npu.value = "b.out"} : (memref<4xf32>) -> ()
  func.call @a(%x) {npu.layer = "a"} : (memref<4xf32>) -> ()
  func.return
}
func.func private @a(%ofm: memref<4xf32>) attributes {npu.layer = "a", npu.what = "npu.mul scales [1, 2] by [2, 2]"} {
  %w = memref.get_global @a_w : memref<4xf32, #npu.flash>
  %same = memref.get_global @same : memref<4xf32, #npu.flash>
  "memref.copy"(%w, %ofm) : (memref<4xf32, #npu.flash>, memref<4xf32>) -> ()
  "memref.copy"(%same, %ofm) {npu.layer = "a"} : (memref<4xf32, #npu.flash>, memref<4xf32>) -> ()
  func.return
}
func.func private @b(%ofm: memref<4xf32>) attributes {npu.layer = "b", npu.what = "npu.mul scales [3] by [2, 2]"} {
  %w = memref.get_global @b_w : memref<4xf32, #npu.flash>
  %same = memref.get_global @same : memref<4xf32, #npu.flash>
  "memref.copy"(%w, %ofm) : (memref<4xf32, #npu.flash>, memref<4xf32>) -> ()
  "memref.copy"(%same, %ofm) {npu.layer = "b"} : (memref<4xf32, #npu.flash>, memref<4xf32>) -> ()
  func.return
}

// -----

// Numbers to compute with are passed, those that change together as one; -0.0 is not 0.0.
// CHECK-LABEL: func.func @scalars
// CHECK-NEXT: [[P:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[Q:%\w+]] = arith.constant 3 : i32
// CHECK-NEXT: func.call @c(%x, [[P]], [[Q]]) :
// CHECK-NEXT: [[P:%\w+]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT: [[Q:%\w+]] = arith.constant 4 : i32
// CHECK-NEXT: func.call @c(%x, [[P]], [[Q]]) :
// CHECK-NEXT: func.return
// CHECK: func.func private @c(%x: memref<4xf32>, [[P:%\w+]]: f32, [[Q:%\w+]]: i32) {
// CHECK-NEXT: %c3 = arith.constant 3 : i32
// CHECK-NEXT: "test.op"([[P]], [[Q]], [[Q]], %c3) : (f32, i32, i32, i32) -> ()
// CHECK-NOT: func.func private
func.func @scalars(%x: memref<4xf32>) {
  func.call @c(%x) : (memref<4xf32>) -> ()
  func.call @d(%x) : (memref<4xf32>) -> ()
  func.return
}
func.func private @c(%x: memref<4xf32>) {
  %p = arith.constant 0.0 : f32
  %q = arith.constant 3 : i32
  %q2 = arith.constant 3 : i32
  %c3 = arith.constant 3 : i32
  "test.op"(%p, %q, %q2, %c3) : (f32, i32, i32, i32) -> ()
  func.return
}
func.func private @d(%x: memref<4xf32>) {
  %p = arith.constant -0.0 : f32
  %q = arith.constant 4 : i32
  %q2 = arith.constant 4 : i32
  %c3 = arith.constant 3 : i32
  "test.op"(%p, %q, %q2, %c3) : (f32, i32, i32, i32) -> ()
  func.return
}
