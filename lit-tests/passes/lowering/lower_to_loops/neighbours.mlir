// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s
// Where rows lie side by side, the lanes of a depthwise layer of floats are neighbouring outputs.

builtin.module {
  "memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<2x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<2x1x3x3xf32>, constant}> : () -> ()
  func.func @f(%x: memref<1x2x12x12xf32, #npu.sram>, %y: memref<1x2x12x12xf32, #npu.sram>) {
    %w = memref.get_global @w : memref<2x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x2x12x12xf32, #npu.sram>, memref<2x1x3x3xf32, #npu.flash>) outs(%y : memref<1x2x12x12xf32, #npu.sram>) pads [1, 1, 1, 1] groups 2
    func.return
  }
}
// CHECK:      scf.for %c = %c0 to %c2 step %c1 {
// CHECK:        mve.load
// CHECK-NEXT:   dsp.keep_order
// CHECK-NEXT:   mve.move_up
// CHECK-NEXT:   mve.fma_scalar
// CHECK-NEXT:   mve.fma_scalar
// CHECK:        mve.load %line{{.*}} first 3
// CHECK-NOT:    mve.fma {{%}}
