// RUN: npu-opt %s -p 'npu-attach-target{target=fe310},npu-outline-layers,npu-measure-zeros' | filecheck %s
// RUN: npu-opt %s -p 'npu-attach-target{target=fe310},npu-outline-layers,npu-measure-zeros,npu-lower-to-loops' | filecheck %s --check-prefix=LOOPS

// Two of the three channels that the first layer writes are dead: their biases keep them below zero.
// The second layer reads them, and a map of zeros and ones in its weights, of which a third is zero.
// What the first layer finds in its output has no share, and neither has the reader of bytes.

// CHECK-LABEL: func.func @net
// CHECK:      func.call @first({{.*}}) {npu.layer = "first", npu.zeros = array<f64: 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00>}
// CHECK:      func.call @second({{.*}}) {npu.layer = "second", npu.zeros = array<f64: 6.670000e-01, 3.330000e-01, 0.000000e+00, 0.000000e+00>}
// CHECK:      func.call @bytes({{.*}}) {npu.layer = "bytes"}

// The loops leave the shares to the call, and the prediction with them.
// LOOPS: func.call @second({{.*}}) {npu.layer = "second", npu.zeros = array<f64: 6.670000e-01, 3.330000e-01, 0.000000e+00, 0.000000e+00>}

"memref.global"() <{sym_name = "w1", sym_visibility = "private", type = memref<3x1x1x1xf32, #npu.flash>, initial_value = dense<[[[[0.1]]], [[[0.1]]], [[[0.1]]]]> : tensor<3x1x1x1xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "b1", sym_visibility = "private", type = memref<3xf32, #npu.flash>, initial_value = dense<[-9.0, 9.0, -9.0]> : tensor<3xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w2", sym_visibility = "private", type = memref<1x3x1x1xf32, #npu.flash>, initial_value = dense<[[[[1.0]], [[0.0]], [[1.0]]]]> : tensor<1x3x1x1xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "b2", sym_visibility = "private", type = memref<1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<1xf32>, constant}> : () -> ()
func.func @net(%x: memref<1x1x4x4xf32, #npu.sram> {sram.input}, %y: memref<1x1x4x4xf32, #npu.sram> {sram.output}, %q: memref<1x1x4x4xi8, #npu.sram> {sram.input}, %r: memref<1x1x4x4xi8, #npu.sram> {sram.output}) {
  %w1 = memref.get_global @w1 : memref<3x1x1x1xf32, #npu.flash>
  %b1 = memref.get_global @b1 : memref<3xf32, #npu.flash>
  %w2 = memref.get_global @w2 : memref<1x3x1x1xf32, #npu.flash>
  %b2 = memref.get_global @b2 : memref<1xf32, #npu.flash>
  %m = sram.alloc at 64 : memref<1x3x4x4xf32, #npu.sram>
  npu.conv2d ins(%x, %w1, %b1 : memref<1x1x4x4xf32, #npu.sram>, memref<3x1x1x1xf32, #npu.flash>, memref<3xf32, #npu.flash>) outs(%m : memref<1x3x4x4xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "first"}
  npu.conv2d ins(%m, %w2, %b2 : memref<1x3x4x4xf32, #npu.sram>, memref<1x3x1x1xf32, #npu.flash>, memref<1xf32, #npu.flash>) outs(%y : memref<1x1x4x4xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "second"}
  npu.max_pool2d ins(%q : memref<1x1x4x4xi8, #npu.sram>) outs(%r : memref<1x1x4x4xi8, #npu.sram>) kernel [1, 1] strides [1, 1] {npu.layer = "bytes"}
  func.return
}
