// RUN: npu-opt %s -p 'npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s
// RUN: npu-opt %s -p 'npu-attach-target{target=fe310},npu-lower-to-loops' | filecheck %s --check-prefix=SINGLE

// The weights of two filters lie side by side: w[0, 0], w[1, 0], w[0, 1], w[1, 1].
// CHECK: "memref.global"() <{sym_name = "pointwise_weights"{{.*}}initial_value = dense<[1.000000e+00, 3.000000e+00, 2.000000e+00, 4.000000e+00]>
// CHECK-NOT: sym_name = "w"
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<2x2x1x1xf32>, initial_value = dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>, constant}> : () -> ()

// The weights of both channels are loaded at once, and the inputs of each channel.
// CHECK-LABEL: func.func @pointwise
// CHECK: dsp.load_floats {{.*}} to 0 : {{.*}} -> f32, f32, f32, f32
// CHECK: dsp.load_floats {{.*}} to 28 : {{.*}} -> f32, f32, f32, f32
// CHECK: dsp.load_floats {{.*}} to 28 : {{.*}} -> f32, f32, f32, f32
// SINGLE-LABEL: func.func @pointwise
// SINGLE-NOT: load_floats
func.func @pointwise(%x: memref<1x2x1x4xf32>, %y: memref<1x2x1x4xf32>) {
  %w = memref.get_global @w : memref<2x2x1x1xf32>
  npu.conv2d ins(%x, %w : memref<1x2x1x4xf32>, memref<2x2x1x1xf32>) outs(%y : memref<1x2x1x4xf32>) {npu.layer = "pointwise"}
  func.return
}

// Weights that are not known stay where they are. Inputs are loaded at once nevertheless.
// CHECK-LABEL: func.func @unknown
// CHECK: memref.load %taps
// CHECK: dsp.load_floats %row
// CHECK-NOT: dsp.load_floats %taps
func.func @unknown(%x: memref<1x2x1x4xf32>, %w: memref<4x2x1x1xf32>, %y: memref<1x4x1x4xf32>) {
  npu.conv2d ins(%x, %w : memref<1x2x1x4xf32>, memref<4x2x1x1xf32>) outs(%y : memref<1x4x1x4xf32>)
  func.return
}

"memref.global"() <{sym_name = "v", sym_visibility = "private", type = memref<2x1x1x1xf32>, initial_value = dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "b", sym_visibility = "private", type = memref<2xf32>, initial_value = dense<[5.0, 6.0]> : tensor<2xf32>, constant}> : () -> ()

// The first values of 12 sums are loaded at once, in front of six inputs. Each row of outputs is stored at once.
// CHECK-LABEL: func.func @held
// CHECK: dsp.load_floats %starts{{.*}} to 14
// CHECK: dsp.store_floats {{.*}} from 14 to
// CHECK: dsp.store_floats {{.*}} from 20 to
// CHECK-NOT: memref.store
// SINGLE-LABEL: func.func @held
// SINGLE-NOT: store_floats
func.func @held(%x: memref<1x1x1x6xf32>, %y: memref<1x2x1x6xf32>) {
  %w = memref.get_global @v : memref<2x1x1x1xf32>
  %b = memref.get_global @b : memref<2xf32>
  npu.conv2d ins(%x, %w, %b : memref<1x1x1x6xf32>, memref<2x1x1x1xf32>, memref<2xf32>) outs(%y : memref<1x2x1x6xf32>) {npu.layer = "held"}
  func.return
}
