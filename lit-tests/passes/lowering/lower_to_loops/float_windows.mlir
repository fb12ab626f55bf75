// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s
// The lanes of a convolution of floats with a few filters and a fused pool are four pooling windows.

builtin.module {
  "memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<3x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<3x1x3x3xf32>, constant}> : () -> ()
  func.func @f(%x: memref<1x1x10x20xf32, #npu.sram>, %y: memref<1x3x4x9xf32, #npu.sram>) {
    %w = memref.get_global @w : memref<3x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x1x10x20xf32, #npu.sram>, memref<3x1x3x3xf32, #npu.flash>) outs(%y : memref<1x3x4x9xf32, #npu.sram>) then max_pool [2, 2] by [2, 2]
    func.return
  }
}
// Nine windows are in three blocks, of which the last one begins at the sixth window.
// CHECK:      scf.for %ox = %c0 to %c12 step %c4 {
// CHECK-NEXT:   %ox_1 = arith.minsi %ox, %c5 : index
// CHECK-NEXT:   scf.for %oc = %c0 to %c3 step %c1 {
// CHECK:          %patch = memref.subview %x[0, 0, %{{.*}}, %{{.*}}] [1, 1, 4, 10]
// CHECK:          dsp.keep_order
// CHECK:          mve.load %line_1[%c0] addressed
// CHECK-NEXT:     mve.fma_scalar %x_2, %w, %bias : vector<4xf32>
// CHECK-NEXT:     %w_1 = memref.load %taps_1[%c1]
// CHECK-NEXT:     mve.fma_scalar %x_2, %w_1, %acc : vector<4xf32>
// CHECK-NEXT:     dsp.keep_order
// CHECK:          mve.maximum
// CHECK-NEXT:     mve.maximum
// CHECK-NEXT:     mve.maximum
// CHECK-NEXT:     %y_1 = memref.subview %y[0, %oc, %oy, %ox_1] [1, 1, 1, 4]
// CHECK-NEXT:     mve.store
