// RUN: npu-opt %s -p npu-share-constants | filecheck %s

// The second and the first table are equal. The third has other values, the fourth another type, the
// fifth is public, and the last two can be written.
// CHECK:       sym_name = "a"
// CHECK-NOT:   sym_name = "b"
// CHECK:       sym_name = "c"
// CHECK:       sym_name = "d"
// CHECK:       sym_name = "e"
// CHECK:       sym_name = "f"
// CHECK:       sym_name = "g"
"memref.global"() <{sym_name = "a", type = memref<3xi8, #npu.flash>, initial_value = dense<[1, 2, 3]> : tensor<3xi8>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "b", type = memref<3xi8, #npu.flash>, initial_value = dense<[1, 2, 3]> : tensor<3xi8>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "c", type = memref<3xi8, #npu.flash>, initial_value = dense<[1, 2, 4]> : tensor<3xi8>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "d", type = memref<3x1xi8, #npu.flash>, initial_value = dense<[[1], [2], [3]]> : tensor<3x1xi8>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "e", type = memref<3xi8, #npu.flash>, initial_value = dense<[1, 2, 3]> : tensor<3xi8>, sym_visibility = "public", constant}> : () -> ()
"memref.global"() <{sym_name = "f", type = memref<3xi8, #npu.flash>, initial_value = dense<[1, 2, 3]> : tensor<3xi8>, sym_visibility = "private"}> : () -> ()
"memref.global"() <{sym_name = "g", type = memref<3xi8, #npu.flash>, initial_value = dense<[1, 2, 3]> : tensor<3xi8>, sym_visibility = "private"}> : () -> ()

// CHECK-LABEL: func.func @reads
// CHECK-NEXT:  memref.get_global @a
// CHECK-NEXT:  memref.get_global @a
// CHECK-NEXT:  memref.get_global @c
// CHECK-NEXT:  memref.get_global @d
// CHECK-NEXT:  memref.get_global @e
// CHECK-NEXT:  memref.get_global @f
// CHECK-NEXT:  memref.get_global @g
func.func @reads() {
  %a = memref.get_global @a : memref<3xi8, #npu.flash>
  %b = memref.get_global @b : memref<3xi8, #npu.flash>
  %c = memref.get_global @c : memref<3xi8, #npu.flash>
  %d = memref.get_global @d : memref<3x1xi8, #npu.flash>
  %e = memref.get_global @e : memref<3xi8, #npu.flash>
  %f = memref.get_global @f : memref<3xi8, #npu.flash>
  %g = memref.get_global @g : memref<3xi8, #npu.flash>
  func.return
}
