// RUN: npu-opt %s -p 'npu-share-functions{before-lowering=true}' | filecheck %s
// RUN: npu-opt %s -p 'npu-share-functions{before-lowering=true},npu-lower-to-loops,npu-share-functions' | filecheck %s --check-prefix=LOOPS

"memref.global"() <{sym_name = "w0", sym_visibility = "private", type = memref<2x2xf32>, initial_value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w1", sym_visibility = "private", type = memref<2x2xf32>, initial_value = dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "q0", sym_visibility = "private", type = memref<2x4xi8>, initial_value = dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>, constant}> : () -> ()
"memref.global"() <{sym_name = "q1", sym_visibility = "private", type = memref<2x4xi8>, initial_value = dense<[[1, 0, 0, 1], [2, 3, 3, 2]]> : tensor<2x4xi8>, constant}> : () -> ()

// CHECK-LABEL: func.func @main
// CHECK: func.call @dense0(%x, %{{.*}}, %y) {npu.layer = "dense0"}
// CHECK: func.call @dense0(%y, %{{.*}}, %x) {npu.layer = "dense1"}
// CHECK: func.call @bytes0
// CHECK: func.call @bytes1
func.func @main(%x: memref<1x2xf32>, %y: memref<1x2xf32>, %p: memref<1x4xi8>, %q: memref<1x2xi8>) {
  %w0 = memref.get_global @w0 : memref<2x2xf32>
  %w1 = memref.get_global @w1 : memref<2x2xf32>
  %q0 = memref.get_global @q0 : memref<2x4xi8>
  %q1 = memref.get_global @q1 : memref<2x4xi8>
  func.call @dense0(%x, %w0, %y) {npu.layer = "dense0"} : (memref<1x2xf32>, memref<2x2xf32>, memref<1x2xf32>) -> ()
  func.call @dense1(%y, %w1, %x) {npu.layer = "dense1"} : (memref<1x2xf32>, memref<2x2xf32>, memref<1x2xf32>) -> ()
  func.call @bytes0(%p, %q0, %q) : (memref<1x4xi8>, memref<2x4xi8>, memref<1x2xi8>) -> ()
  func.call @bytes1(%p, %q1, %q) : (memref<1x4xi8>, memref<2x4xi8>, memref<1x2xi8>) -> ()
  func.return
}

// Layers that differ in their weights only are one function before they are loops.
// CHECK: func.func private @dense0({{.*}}) attributes {npu.layer = "dense0, dense1"}
// CHECK: npu.fully_connected
// CHECK-NOT: func.func private @dense1
// LOOPS-LABEL: func.func private @dense0
// LOOPS: arith.mulf
// LOOPS-NOT: func.func private @dense1
func.func private @dense0(%ifm: memref<1x2xf32>, %weight: memref<2x2xf32>, %ofm: memref<1x2xf32>) attributes {npu.layer = "dense0"} {
  npu.fully_connected ins(%ifm, %weight : memref<1x2xf32>, memref<2x2xf32>) outs(%ofm : memref<1x2xf32>) {npu.layer = "dense0"}
  func.return
}
func.func private @dense1(%ifm: memref<1x2xf32>, %weight: memref<2x2xf32>, %ofm: memref<1x2xf32>) attributes {npu.layer = "dense1"} {
  npu.fully_connected ins(%ifm, %weight : memref<1x2xf32>, memref<2x2xf32>) outs(%ofm : memref<1x2xf32>) {npu.layer = "dense1"}
  func.return
}

// The lowering reads constant integers, so it must know which call passes them.
// CHECK: func.func private @bytes0
// CHECK: func.func private @bytes1
func.func private @bytes0(%ifm: memref<1x4xi8>, %weight: memref<2x4xi8>, %ofm: memref<1x2xi8>) {
  npu.fully_connected ins(%ifm, %weight : memref<1x4xi8>, memref<2x4xi8>) outs(%ofm : memref<1x2xi8>) zero_points [0, 0] then requantize scales [0.125] zero_point 0 mode float
  func.return
}
func.func private @bytes1(%ifm: memref<1x4xi8>, %weight: memref<2x4xi8>, %ofm: memref<1x2xi8>) {
  npu.fully_connected ins(%ifm, %weight : memref<1x4xi8>, memref<2x4xi8>) outs(%ofm : memref<1x2xi8>) zero_points [0, 0] then requantize scales [0.125] zero_point 0 mode float
  func.return
}
