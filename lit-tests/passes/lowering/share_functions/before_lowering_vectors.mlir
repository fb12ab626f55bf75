// RUN: npu-opt %s -p 'npu-attach-target{target=cortex-m55},npu-share-functions{before-lowering=true}' | filecheck %s
// RUN: npu-opt %s -p 'npu-attach-target{target=cortex-m4},npu-share-functions{before-lowering=true}' | filecheck %s
// RUN: npu-opt %s -p 'npu-attach-target{target=fe310},npu-share-functions{before-lowering=true}' | filecheck %s --check-prefix=SCALAR

"memref.global"() <{sym_name = "w0", sym_visibility = "private", type = memref<2x2xf32>, initial_value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w1", sym_visibility = "private", type = memref<2x2xf32>, initial_value = dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>, constant}> : () -> ()

// On a machine with vectors, or with loads of several floats, the lowering packs floats for each layer, so the layers are not merged before.
// CHECK-LABEL: func.func @main
// CHECK: func.call @dense0
// CHECK: func.call @dense1
// SCALAR-LABEL: func.func @main
// SCALAR: func.call @dense0
// SCALAR: func.call @dense0
// Functions whose layers compute in another order are not merged either.
// SCALAR: func.call @dense2
func.func @main(%x: memref<1x2xf32>, %y: memref<1x2xf32>) {
  %w0 = memref.get_global @w0 : memref<2x2xf32>
  %w1 = memref.get_global @w1 : memref<2x2xf32>
  func.call @dense0(%x, %w0, %y) {npu.layer = "dense0"} : (memref<1x2xf32>, memref<2x2xf32>, memref<1x2xf32>) -> ()
  func.call @dense1(%y, %w1, %x) {npu.layer = "dense1"} : (memref<1x2xf32>, memref<2x2xf32>, memref<1x2xf32>) -> ()
  func.call @dense2(%x, %w1, %y) {npu.layer = "dense2"} : (memref<1x2xf32>, memref<2x2xf32>, memref<1x2xf32>) -> ()
  func.return
}

func.func private @dense0(%ifm: memref<1x2xf32>, %weight: memref<2x2xf32>, %ofm: memref<1x2xf32>) attributes {npu.layer = "dense0"} {
  npu.fully_connected ins(%ifm, %weight : memref<1x2xf32>, memref<2x2xf32>) outs(%ofm : memref<1x2xf32>) {npu.layer = "dense0"}
  func.return
}
func.func private @dense1(%ifm: memref<1x2xf32>, %weight: memref<2x2xf32>, %ofm: memref<1x2xf32>) attributes {npu.layer = "dense1"} {
  npu.fully_connected ins(%ifm, %weight : memref<1x2xf32>, memref<2x2xf32>) outs(%ofm : memref<1x2xf32>) {npu.layer = "dense1"}
  func.return
}
func.func private @dense2(%ifm: memref<1x2xf32>, %weight: memref<2x2xf32>, %ofm: memref<1x2xf32>) attributes {npu.layer = "dense2"} {
  npu.fully_connected ins(%ifm, %weight : memref<1x2xf32>, memref<2x2xf32>) outs(%ofm : memref<1x2xf32>) {npu.layer = "dense2", npu.by_channel}
  func.return
}
