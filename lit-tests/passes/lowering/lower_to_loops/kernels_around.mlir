// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s

// Loops around the kernel of one group and one image.

// Two images: a loop around the kernel, which is built once.
// CHECK-LABEL: func.func @batch
// CHECK: scf.for %n = %c0 to %c2 step %c1
// CHECK:   memref.subview %x[%n, 0, 0, 0] [1, 4, 6, 6]
// CHECK:   dsp.smlad
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x4x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<4x4x1x1xi8>, constant}> : () -> ()
func.func @batch(%x : memref<2x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, %y : memref<2x4x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<2x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, memref<4x4x1x1xi8, #npu.flash>) outs(%y : memref<2x4x6x6xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// The filters of group %g read four channels from channel 4 * %g on.
// CHECK-LABEL: func.func @groups
// CHECK: scf.for %g = %c0 to %c2 step %c1
// CHECK-NEXT: [[CHANNEL:%.+]] = arith.muli %g, %c4
// CHECK:   arith.addi %{{.+}}, [[CHANNEL]]
// CHECK:   dsp.smlad
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<8x4x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<8x4x1x1xi8>, constant}> : () -> ()
func.func @groups(%x : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, %y : memref<1x8x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<8x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, memref<8x4x1x1xi8, #npu.flash>) outs(%y : memref<1x8x6x6xi8, #npu.sram>) groups 2 zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Windows that overlap: the output starts with the least number, and each output raises it. In a
// loop over filters, its channels have one view.
// CHECK-LABEL: func.func @overlap
// CHECK: memref.store %{{.+}}, %y[
// CHECK: dsp.smlad
// CHECK: scf.for %py
// CHECK: scf.for %px
// CHECK: [[VIEW:%.+]] = memref.subview %y[0, %oc{{[_0-9]*}}, %py{{[_0-9]*}}, %px{{[_0-9]*}}] [1, 4, 1, 1]
// CHECK: memref.load [[VIEW]][%c0]
// CHECK: memref.store %{{.+}}, [[VIEW]][%c0]
// CHECK: memref.load [[VIEW]][%c1]
// CHECK: memref.store %{{.+}}, [[VIEW]][%c1]
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<8x4x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<8x4x1x1xi8>, constant}> : () -> ()
func.func @overlap(%x : memref<1x4x7x7xi8, strided<[196, 1, 28, 4]>, #npu.sram>, %y : memref<1x8x3x3xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<8x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x7x7xi8, strided<[196, 1, 28, 4]>, #npu.sram>, memref<8x4x1x1xi8, #npu.flash>) outs(%y : memref<1x8x3x3xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float then max_pool [3, 3] by [2, 2] overlap accumulate
  func.return
}
