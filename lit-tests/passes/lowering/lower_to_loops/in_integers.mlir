// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=fe310},npu-lower-to-loops' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s --check-prefix=FPU
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-lower-to-loops | filecheck %s --check-prefix=NONE

// Without an FPU, mode float is computed in integers. A table has a factor of each scale.
// CHECK:       sym_name = "channels_factors", {{.*}} dense<[1342177280, 1073741824]>
// CHECK-LABEL: func.func @channels
// CHECK:       %factors = memref.get_global @channels_factors : memref<2xi32, #npu.flash>
// CHECK:       %factor = memref.load %factors
// CHECK:       dsp.rescale %{{.*}} by %factor exponent 37 left 15 between -133 and 122 : i32
// CHECK-NOT:   arith.mulf
// CHECK:       func.return
// FPU-NOT:     dsp.rescale
// A core that is not known may have no instruction that rounds.
// NONE-LABEL:  func.func @channels
// NONE-NOT:    dsp.
// NONE:        arith.fptosi
// NONE-NOT:    dsp.
// NONE:        func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<2x8x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<2x8x1x1xi8>, constant}> : () -> ()
func.func @channels(%x : memref<1x8x6x6xi8, #npu.sram>, %y : memref<1x2x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<2x8x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x8x6x6xi8, #npu.sram>, memref<2x8x1x1xi8, #npu.flash>) outs(%y : memref<1x2x6x6xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.009765625, 0.0078125] zero_point 5 mode float
  func.return
}

// -----

// One scale is a number. ReLU narrows the bounds.
// CHECK-LABEL: func.func @one
// CHECK:       %[[FACTOR:.*]] = arith.constant 1342177280 : i32
// CHECK:       dsp.rescale %{{.*}} by %[[FACTOR]] exponent 37 left 15 between 0 and 122 : i32
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x8xi8, #npu.flash>, initial_value = dense<-1> : tensor<4x8xi8>, constant}> : () -> ()
func.func @one(%x : memref<1x8xi8, #npu.sram>, %y : memref<1x4xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x8xi8, #npu.flash>
  npu.fully_connected ins(%x, %w : memref<1x8xi8, #npu.sram>, memref<4x8xi8, #npu.flash>) outs(%y : memref<1x4xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.009765625] zero_point 5 mode float then clamp [5.0, 127.0]
  func.return
}

// -----

// Sums whose bound is not known, as of weights that are given, keep their floats.
// CHECK-LABEL: func.func @unknown
// CHECK:       arith.mulf
// CHECK-NOT:   dsp.rescale
// CHECK:       func.return
func.func @unknown(%x : memref<1x8xi8, #npu.sram>, %w : memref<4x8xi8, #npu.flash>, %y : memref<1x4xi8, #npu.sram>) {
  npu.fully_connected ins(%x, %w : memref<1x8xi8, #npu.sram>, memref<4x8xi8, #npu.flash>) outs(%y : memref<1x4xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// -----

// Another mode is another rounding.
// CHECK-LABEL: func.func @fixed
// CHECK-NOT:   dsp.rescale
// CHECK:       func.return
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x8xi8, #npu.flash>, initial_value = dense<1> : tensor<4x8xi8>, constant}> : () -> ()
func.func @fixed(%x : memref<1x8xi8, #npu.sram>, %y : memref<1x4xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<4x8xi8, #npu.flash>
  npu.fully_connected ins(%x, %w : memref<1x8xi8, #npu.sram>, memref<4x8xi8, #npu.flash>) outs(%y : memref<1x4xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode fixed
  func.return
}

// -----

// A product and a quotient become one product that gives the same for all bytes.
// CHECK-LABEL: func.func @other_scale
// CHECK:       dsp.rescale
// CHECK-NOT:   arith.divf
// CHECK:       func.return
func.func @other_scale(%x : memref<64xi8, #npu.sram>, %y : memref<64xi8, #npu.sram>) {
  npu.requantize ins(%x : memref<64xi8, #npu.sram>) outs(%y : memref<64xi8, #npu.sram>) scales [0.013] divisor 0.0217 zero_points [-3, 7] mode float
  func.return
}

// -----

// A sum is two products in fixed point. Next to a half it is computed in floats.
// CHECK-LABEL: func.func @sum
// CHECK:       arith.muli %{{.*}} overflow<nsw> : i32
// CHECK:       arith.muli %{{.*}} overflow<nsw> : i32
// CHECK:       [[NEAR:%.*]] = arith.cmpi ule
// CHECK-NEXT:  scf.if [[NEAR]] -> (i32) {
// CHECK:         arith.divf
// CHECK:       } else {
// CHECK-NOT:     arith.mulf
// CHECK:         arith.shrsi
// CHECK:       {npu.seldom}
// FPU-LABEL:   func.func @sum
// FPU-NOT:     scf.if
// FPU:         func.return
func.func @sum(%a : memref<64xi8, #npu.sram>, %b : memref<64xi8, #npu.sram>, %y : memref<64xi8, #npu.sram>) {
  npu.quantized_add ins(%a, %b : memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>) outs(%y : memref<64xi8, #npu.sram>) scales [0.013, 0.0217, 0.0301] zero_points [-3, 7, 0] mode float
  func.return
}

// -----

// The same behind a convolution: its own result is an integer.
// CHECK-LABEL: func.func @residual
// CHECK:       %[[OWN:.*]] = dsp.rescale
// CHECK:       arith.addi %[[OWN]]
// CHECK:       {npu.seldom}
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<8x8x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<8x8x1x1xi8>, constant}> : () -> ()
func.func @residual(%x : memref<1x8x6x6xi8, #npu.sram>, %r : memref<1x8x6x6xi8, #npu.sram>, %y : memref<1x8x6x6xi8, #npu.sram>) {
  %w = memref.get_global @w : memref<8x8x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w, %r : memref<1x8x6x6xi8, #npu.sram>, memref<8x8x1x1xi8, #npu.flash>, memref<1x8x6x6xi8, #npu.sram>) outs(%y : memref<1x8x6x6xi8, #npu.sram>) zero_points [-3, 0] then requantize scales [0.01] zero_point 5 mode float then add residual second scales [0.03, 0.02, 0.041] zero_points [5, 2, -7] mode float
  func.return
}

// -----

// An average adds up integers. The order of float32 sums counts only next to a half.
// CHECK-LABEL: func.func @average
// CHECK:       %total = scf.for %k
// CHECK:         memref.load
// CHECK-NEXT:    arith.extsi
// CHECK-NEXT:    arith.addi
// CHECK-NEXT:    scf.yield
// CHECK:       arith.cmpi ule
// CHECK-NEXT:  scf.if
// CHECK:         scf.for %k
// CHECK:       {npu.seldom}
func.func @average(%x : memref<1x8x6x6xi8, #npu.sram>, %y : memref<1x8x1x1xi8, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%x : memref<1x8x6x6xi8, #npu.sram>) outs(%y : memref<1x8x1x1xi8, #npu.sram>) kernel [6, 6] strides [1, 1] scales [0.013, 0.0217] zero_points [-3, 7] mode float
  func.return
}

// -----

// Windows that padding cuts divide by fewer elements: a factor for each number. With an FPU, windows on the map are sums of integers,
// too, and straight code: none comes so near to a half that the order of float32 sums counts. At the border some do.
// CHECK:       sym_name = "windows_factors", {{.*}} memref<9xi32, #npu.flash>
// CHECK-LABEL: func.func @windows
// CHECK:       memref.load %factors
// CHECK:       {npu.seldom}
// FPU-LABEL:   func.func @windows
// FPU:         scf.if
// FPU:           arith.divf
// FPU:           scf.for %ox
// FPU-COUNT-9:     memref.load %x
// FPU:             arith.sitofp
// FPU-NEXT:        arith.mulf
// FPU-NEXT:        dsp.round
// FPU:         } else {
func.func @windows(%x : memref<1x8x6x6xi8, #npu.sram>, %y : memref<1x8x6x6xi8, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%x : memref<1x8x6x6xi8, #npu.sram>) outs(%y : memref<1x8x6x6xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] scales [0.013, 0.0217] zero_points [-3, 7] mode float
  func.return
}

// -----

// The difference of a gate and its zero point stands in front of the loop over a channel.
// CHECK-LABEL: func.func @gate
// CHECK:       scf.for %i
// CHECK:         %[[GATE:.*]] = arith.subi
// CHECK:         scf.for %j
// CHECK:           arith.muli %{{.*}}, %[[GATE]] overflow<nsw> : i32
// CHECK:           {npu.seldom}
func.func @gate(%a : memref<1x2x3x4xi8, #npu.sram>, %g : memref<1x2x1x1xi8, #npu.sram>, %y : memref<1x2x3x4xi8, #npu.sram>) {
  npu.quantized_binary ins(%a, %g : memref<1x2x3x4xi8, #npu.sram>, memref<1x2x1x1xi8, #npu.sram>) outs(%y : memref<1x2x3x4xi8, #npu.sram>) with mul scales [0.013, 0.0217, 0.0301] zero_points [1, 2, 3] mode float
  func.return
}
