// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s

// Layers of bytes that no kernel is built for: the general loops read the weights as they are.

// A zero point of weights.
// CHECK-LABEL: func.func @weight_zero_point
// CHECK-NOT: dsp.sml
// CHECK: memref.get_global @w
// CHECK-NOT: dsp.sml
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x4x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<4x4x1x1xi8>, constant}> : () -> ()
func.func @weight_zero_point(%x : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, %y : memref<1x4x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, memref<4x4x1x1xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, #npu.sram>) zero_points [-3, 2] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Sums that go on from what is stored.
// CHECK-LABEL: func.func @accumulate
// CHECK-NOT: dsp.sml
// CHECK: memref.get_global @w
// CHECK-NOT: dsp.sml
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x4x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<4x4x1x1xi8>, constant}> : () -> ()
func.func @accumulate(%x : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, %y : memref<1x4x6x6xi32, #npu.sram>) {
  %w = memref.get_global @w : memref<4x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, memref<4x4x1x1xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi32, #npu.sram>) accumulate zero_points [-3, 0]
  func.return
}

// -----

// Weights that cannot be seen.
// CHECK-LABEL: func.func @argument
// CHECK-SAME: %w: memref<4x4x1x1xi8, #npu.flash>
// CHECK-NOT: dsp.sml
// CHECK: memref.subview %w[
// CHECK-NOT: dsp.sml
// CHECK: func.return
func.func @argument(%x : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, %w : memref<4x4x1x1xi8, #npu.flash>, %y : memref<1x4x6x6xi8, #npu.sram>) {
  npu.conv2d ins(%x, %w : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, memref<4x4x1x1xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// A vector shorter than a word.
// CHECK-LABEL: func.func @short
// CHECK-NOT: dsp.sml
// CHECK: memref.get_global @w
// CHECK-NOT: dsp.sml
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<5x3xi8, #npu.flash>, initial_value = dense<1> : tensor<5x3xi8>, constant}> : () -> ()
func.func @short(%x : memref<1x3xi8, #npu.sram>, %y : memref<1x5xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<5x3xi8, #npu.flash>
  npu.fully_connected ins(%x, %w : memref<1x3xi8, #npu.sram>, memref<5x3xi8, #npu.flash>) outs(%y : memref<1x5xi8, #npu.sram>) zero_points [7, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}
