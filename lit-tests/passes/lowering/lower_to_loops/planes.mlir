// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s --check-prefixes=CHECK,DSP
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops{flash=small}' | filecheck %s --check-prefixes=CHECK,SMALL
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=fe310},npu-lower-to-loops' | filecheck %s --check-prefixes=CHECK,BYTES

// One tap: a byte of each of two channels is a word, for two pixels. The third channel has no partner.
// DSP:         sym_name = "pixels_taps", {{.*}} dense<[65537, 65537, 65537, 65537, 1, 1, 1, 1]>
// CHECK-LABEL: func.func @pixels
// DSP:         scf.for %ox = %{{.*}} to %c6 step %c2
// DSP-COUNT-4:   memref.load %patch
// DSP:           dsp.keep_order
// DSP-NEXT:      dsp.pack
// DSP-NEXT:      %[[PIXEL:.*]] = dsp.pack
// DSP:           dsp.smlad %{{.*}}, %w,
// DSP:           dsp.smlad %[[PIXEL]], %w,
// DSP-COUNT-2:   memref.load %patch
// DSP-NOT:       dsp.pack
// DSP:           memref.store
// Weights of 16 bits are too long for a short flash.
// SMALL-NOT:   dsp.pack
// BYTES-NOT:   dsp.{{[^rk]}}
// CHECK:       func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x3x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<4x3x1x1xi8>, constant}> : () -> ()
func.func @pixels(%x : memref<1x3x6x6xi8, #npu.sram>, %y : memref<1x4x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x3x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x3x6x6xi8, #npu.sram>, memref<4x3x1x1xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Without dual multiply-accumulates, 16 channels and more: a byte of two pixels, times a weight of four filters.
// CHECK-LABEL: func.func @many
// BYTES:       scf.for %ic = %{{.*}} to %c16 step %c2
// BYTES-COUNT-2: memref.load %patch
// BYTES-COUNT-4: memref.load %taps
// BYTES-COUNT-8: arith.muli %x
// BYTES-NOT:   dsp.pack
// BYTES:       dsp.keep_order of %acc
// CHECK:       func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x16x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<4x16x1x1xi8>, constant}> : () -> ()
func.func @many(%x : memref<1x16x6x6xi8, #npu.sram>, %y : memref<1x4x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x16x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x16x6x6xi8, #npu.sram>, memref<4x16x1x1xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// A depthwise layer: each filter by itself, with four neighbouring outputs, which are stored as a word.
// CHECK-LABEL: func.func @depthwise
// DSP:         scf.for %g = %{{.*}} to %c2 step
// DSP-NEXT:      %{{.*}} = arith.muli
// DSP-NEXT:      scf.for %o = %{{.*}} to %c3 step
// DSP:             scf.for %oy
// DSP:               dsp.load_pair %taps
// DSP:               dsp.store_word %{{.*}}, %outputs
// SMALL-NOT:   dsp.store_word
// BYTES-NOT:   dsp.{{[^rk]}}
// CHECK:       func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<6x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<6x1x3x3xi8>, constant}> : () -> ()
func.func @depthwise(%x : memref<1x2x8x8xi8, #npu.sram>, %y : memref<1x6x8x8xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<6x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x2x8x8xi8, #npu.sram>, memref<6x1x3x3xi8, #npu.flash>) outs(%y : memref<1x6x8x8xi8, #npu.sram>) pads [1, 1, 1, 1] groups 2 zero_points [-3, 0] then requantize scales [0.01] zero_point -128 mode float
  func.return
}

// -----

// Two filters of a channel share pairs of neighbouring elements. On padding these are the zero point.
// CHECK-LABEL: func.func @shared
// DSP:         scf.for %c = %{{.*}} to %c2 step
// DSP-NEXT:      scf.for %oy
// DSP:             %[[X:.*]] = dsp.pack %cst, %{{.*}} halves bb
// DSP:             %[[W:.*]], %[[V:.*]] = dsp.load_pair %taps
// DSP-NEXT:        dsp.smlad %[[X]], %[[W]], %{{.*}}
// DSP:             dsp.smlad %[[X]], %[[V]], %{{.*}}
// DSP:             dsp.store_word %{{.*}}, %outputs
// DSP-NOT:         scf.for %o =
// SMALL-NOT:   dsp.pack
// BYTES-NOT:   dsp.{{[^rk]}}
// CHECK:       func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<4x1x3x3xi8>, constant}> : () -> ()
func.func @shared(%x : memref<1x2x8x8xi8, #npu.sram>, %y : memref<1x4x8x8xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x2x8x8xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x8x8xi8, #npu.sram>) pads [1, 1, 1, 1] groups 2 zero_points [-3, 0] then requantize scales [0.01] zero_point -128 mode float
  func.return
}

// -----

// With a dilation of two, neighbouring taps are the halves of a word: (x0, x2) for one pixel, (x1, x3) for the next.
// CHECK-LABEL: func.func @dilated
// DSP:         %[[X:.*]] = dsp.load_word %patch
// DSP-NEXT:    dsp.sxtb16 %[[X]] rotate 0
// DSP:         dsp.smlad
// SMALL:       dsp.load_word %patch
// BYTES-NOT:   dsp.{{[^rk]}}
// CHECK:       func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x2x2x2xi8, #npu.flash>, initial_value = dense<1> : tensor<4x2x2x2xi8>, constant}> : () -> ()
func.func @dilated(%x : memref<1x2x8x8xi8, #npu.sram>, %y : memref<1x4x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x2x2x2xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x2x8x8xi8, #npu.sram>, memref<4x2x2x2xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] dilations [2, 2] zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}
