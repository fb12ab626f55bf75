// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s --check-prefixes=CHECK,DSP
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops{flash=small}' | filecheck %s --check-prefixes=CHECK,SMALL
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=fe310},npu-lower-to-loops' | filecheck %s --check-prefixes=CHECK,BYTES

// A kernel row is one run of 3 * 4 bytes. Its weights are packed anew, its zero point is in the
// bias; the old constants are gone, and the arguments they came by.
// CHECK-LABEL: builtin.module
// CHECK-NOT: @dense_weight
// CHECK: func.call @dense(%a, %y) {npu.layer = "dense"}
// CHECK-NOT: @dense_weight
// DSP: sym_name = "dense_taps", {{.*}}type = memref<72xi32, #npu.flash>
// SMALL: sym_name = "dense_taps", {{.*}}type = memref<36xi32, #npu.flash>
// BYTES: sym_name = "dense_taps", {{.*}}type = memref<144xi8, #npu.flash>
// 3 - (-3) * 36, the same for each filter, and less 128 * 18 where the signs of every second byte
// are flipped; where flash is short one code has to do for all pixels.
// DSP: sym_name = "dense_starts", {{.*}}dense<-2193> : tensor<4xi32>
// SMALL: sym_name = "dense_biases", {{.*}}dense<3> : tensor<4xi32>
// BYTES: sym_name = "dense_starts", {{.*}}dense<111> : tensor<4xi32>
// CHECK: func.func private @dense(%x: memref<1x4x5x4xi8, {{.*}}>, %y: memref<1x4x3x2xi8, #npu.sram>)
// CHECK: %x_1 = memref.reinterpret_cast %x to offset: [0], sizes: [80], strides: [1]
// CHECK: scf.for
// Two pixels, which share the weights of four filters. A word is multiplied as it is, then its odd
// bytes; each load of weights is one for two filters.
// DSP-COUNT-2: arith.xori %x{{[_0-9]*}}, %cst{{[_0-9]*}} : i32
// DSP: dsp.keep_order
// DSP: dsp.load_pair
// DSP-COUNT-4: dsp.smlad %{{[a-z0-9_, %]*}} : i32
// DSP: dsp.load_pair
// DSP-COUNT-4: dsp.smlad %{{[a-z0-9_, %]*}} : i32
// DSP-COUNT-2: dsp.sxtb16 {{.*}} rotate 8 : i32
// Weights are extended on their way into a product.
// SMALL: dsp.load_word
// SMALL: dsp.sxtb16
// SMALL: dsp.smlad {{.*}} in_place
// BYTES-NOT: dsp.{{[lsu]}}
// CHECK-COUNT-8: memref.store {{.*}}, %y[
// CHECK-NOT: memref.store
// CHECK: func.return
"memref.global"() <{sym_name = "dense_weight", sym_visibility = "private", type = memref<4x4x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<4x4x3x3xi8>, constant}> : () -> ()
"memref.global"() <{sym_name = "dense_bias", sym_visibility = "private", type = memref<4xi32, #npu.flash>, initial_value = dense<3> : tensor<4xi32>, constant}> : () -> ()
func.func @f(%y : memref<1x4x3x2xi8, #npu.sram>) {
  %w = memref.get_global @dense_weight : memref<4x4x3x3xi8, #npu.flash>
  %b = memref.get_global @dense_bias : memref<4xi32, #npu.flash>
  %a = sram.alloc : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>
  "test.op"(%a) : (memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>) -> ()
  func.call @dense(%a, %w, %b, %y) {npu.layer = "dense"} : (memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, memref<4x4x3x3xi8, #npu.flash>, memref<4xi32, #npu.flash>, memref<1x4x3x2xi8, #npu.sram>) -> ()
  func.return
}
func.func private @dense(%x : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, %w : memref<4x4x3x3xi8, #npu.flash>, %b : memref<4xi32, #npu.flash>, %y : memref<1x4x3x2xi8, #npu.sram>) {
  npu.conv2d ins(%x, %w, %b : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, memref<4x4x3x3xi8, #npu.flash>, memref<4xi32, #npu.flash>) outs(%y : memref<1x4x3x2xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float {npu.layer = "dense"}
  func.return
}

// -----

// 256 times the least weight, and another one, have no room in 16 bits; so all bytes are unpacked.
// CHECK-LABEL: func.func @least
// DSP: dsp.uxtb16 {{.*}} rotate 0 : i32
// DSP: dsp.uxtb16 {{.*}} rotate 8 : i32
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<1x4x1x1xi8, #npu.flash>, initial_value = dense<[[[[-128]], [[0]], [[1]], [[1]]]]> : tensor<1x4x1x1xi8>, constant}> : () -> ()
func.func @least(%x : memref<1x4x2x2xui8, strided<[16, 1, 8, 4]>, #npu.sram>, %y : memref<1x1x2x2xui8, #npu.sram>) {
  %w = memref.get_global @w : memref<1x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x2x2xui8, strided<[16, 1, 8, 4]>, #npu.sram>, memref<1x4x1x1xi8, #npu.flash>) outs(%y : memref<1x1x2x2xui8, #npu.sram>) zero_points [128, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Bytes without sign.
// CHECK-LABEL: func.func @unsigned
// DSP: arith.constant -2147450880 : i32
// DSP: arith.xori
// DSP: dsp.sxtb16 {{.*}} rotate 8 : i32
// SMALL: dsp.uxtab16
// BYTES: arith.extui
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<1x8x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<1x8x1x1xi8>, constant}> : () -> ()
func.func @unsigned(%x : memref<1x8x2x2xui8, strided<[32, 1, 16, 8]>, #npu.sram>, %y : memref<1x1x2x2xui8, #npu.sram>) {
  %w = memref.get_global @w : memref<1x8x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x8x2x2xui8, strided<[32, 1, 16, 8]>, #npu.sram>, memref<1x8x1x1xi8, #npu.flash>) outs(%y : memref<1x1x2x2xui8, #npu.sram>) zero_points [128, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// On the border the zero point is taken off each byte, in front of a bias without it.
// CHECK-LABEL: builtin.module
// DSP-DAG: sym_name = "padded_starts"
// DSP-DAG: sym_name = "padded_biases"
// SMALL-NOT: sym_name = "padded_starts"
// BYTES-DAG: sym_name = "padded_starts"
// BYTES-DAG: sym_name = "padded_biases"
// CHECK-LABEL: func.func @padded
// DSP: dsp.sxtab16
// SMALL: dsp.sxtab16
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x4x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<4x4x3x3xi8>, constant}> : () -> ()
"memref.global"() <{sym_name = "b", sym_visibility = "private", type = memref<4xi32, #npu.flash>, initial_value = dense<3> : tensor<4xi32>, constant}> : () -> ()
func.func @padded(%x : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, %y : memref<1x4x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x4x3x3xi8, #npu.flash>
  %b = memref.get_global @b : memref<4xi32, #npu.flash>
  npu.conv2d ins(%x, %w, %b : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>, memref<4x4x3x3xi8, #npu.flash>, memref<4xi32, #npu.flash>) outs(%y : memref<1x4x6x6xi8, #npu.sram>) pads [1, 1, 1, 1] zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Depthwise: four channels at a time, one half of a word each.
// CHECK-LABEL: builtin.module
// DSP: sym_name = "depthwise_taps", {{.*}}type = memref<36xi32, #npu.flash>
// SMALL: sym_name = "depthwise_taps", {{.*}}type = memref<18xi32, #npu.flash>
// BYTES: sym_name = "depthwise_taps", {{.*}}type = memref<72xi8, #npu.flash>
// CHECK-LABEL: func.func @depthwise
// DSP: dsp.smla
// SMALL: dsp.smla
// BYTES-NOT: dsp.{{[lsu]}}
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, constant}> : () -> ()
func.func @depthwise(%x : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, %y : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) {
  %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) groups 8 zero_points [7, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Two channels behind a multiple of four are multiplied by the halves of one word a tap.
// CHECK-LABEL: builtin.module
// DSP: sym_name = "six_last_taps", {{.*}}type = memref<9xi32, #npu.flash>
// SMALL-NOT: last_taps
// BYTES-NOT: last_taps
// CHECK-LABEL: func.func @six
// DSP: %[[TAPS:[a-z0-9_]+]] = dsp.opaque
// DSP: %[[EVEN:[a-z0-9_]+]] = dsp.sxtb16 %[[X:[a-z0-9_]+]] rotate 0
// DSP: %[[ODD:[a-z0-9_]+]] = dsp.sxtb16 %[[X]] rotate 8
// DSP: %[[W:[a-z0-9_]+]] = memref.load %[[TAPS]]
// DSP: dsp.smla %[[EVEN]], %[[W]], %{{.*}} halves tb
// DSP: dsp.smla %[[ODD]], %[[W]], %{{.*}} halves tt
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<6x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<6x1x3x3xi8>, constant}> : () -> ()
func.func @six(%x : memref<1x6x6x8xi8, strided<[288, 1, 48, 6]>, #npu.sram>, %y : memref<1x6x4x6xi8, strided<[144, 1, 36, 6]>, #npu.sram>) {
  %w = memref.get_global @w : memref<6x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x6x6x8xi8, strided<[288, 1, 48, 6]>, #npu.sram>, memref<6x1x3x3xi8, #npu.flash>) outs(%y : memref<1x6x4x6xi8, strided<[144, 1, 36, 6]>, #npu.sram>) groups 6 zero_points [7, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// An image of one channel: a row of five taps in three words of weights.
// CHECK-LABEL: builtin.module
// DSP: sym_name = "image_taps", {{.*}}type = memref<60xi32, #npu.flash>
// SMALL: sym_name = "image_taps", {{.*}}type = memref<60xi32, #npu.flash>
// BYTES: sym_name = "image_taps", {{.*}}type = memref<100xi8, #npu.flash>
// CHECK-LABEL: func.func @image
// DSP: dsp.smla
// SMALL: dsp.smla
// BYTES-NOT: dsp.{{[lsu]}}
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<4x1x5x5xi8>, constant}> : () -> ()
func.func @image(%x : memref<1x1x9x9xi8, #npu.sram>, %y : memref<1x4x5x5xi8, strided<[100, 1, 20, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x1x5x5xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x1x9x9xi8, #npu.sram>, memref<4x1x5x5xi8, #npu.flash>) outs(%y : memref<1x4x5x5xi8, strided<[100, 1, 20, 4]>, #npu.sram>) zero_points [0, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Each weight of a fully connected layer is used once: it stays a byte.
// CHECK-LABEL: builtin.module
// DSP: sym_name = "vector_taps", {{.*}}type = memref<10xi32, #npu.flash>
// SMALL: sym_name = "vector_taps", {{.*}}type = memref<10xi32, #npu.flash>
// BYTES: sym_name = "vector_taps", {{.*}}type = memref<40xi8, #npu.flash>
// CHECK-LABEL: func.func @vector
// CHECK: func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<5x7xi8, #npu.flash>, initial_value = dense<1> : tensor<5x7xi8>, constant}> : () -> ()
func.func @vector(%x : memref<1x7xi8, #npu.sram>, %y : memref<1x5xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<5x7xi8, #npu.flash>
  npu.fully_connected ins(%x, %w : memref<1x7xi8, #npu.sram>, memref<5x7xi8, #npu.flash>) outs(%y : memref<1x5xi8, #npu.sram>) zero_points [7, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}
