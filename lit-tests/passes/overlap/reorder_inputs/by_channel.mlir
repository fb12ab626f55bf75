// RUN: npu-opt %s --split-input-file -p npu-reorder-inputs | filecheck %s
// RUN: npu-opt %s --split-input-file -p npu-reorder-inputs,npu-choose-kernels,npu-overlay-maps,npu-assign-sram-offsets | filecheck %s --check-prefix=OFFSETS

// On vectors a depthwise layer computes channel by channel, so an output in planes may follow the rows of an input in planes.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT:   kept
// OFFSETS-LABEL: func.func @vectors
// OFFSETS-SAME: sram.arena = 1164 : i64
// OFFSETS:     npu.conv2d {{.*}} {npu.by_channel, npu.overlays = array<i64: 0, 3, 12, 144>}
builtin.module attributes {npu.target = #npu.target<"cortex-m55", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<8xi32, #npu.flash>, initial_value = dense<1> : tensor<8xi32>, sym_visibility = "private", constant}> : () -> ()
  func.func @vectors(%x: memref<1x8x12x12xi8, #npu.sram> {sram.input}, %y: memref<1x8x12x12xi8, #npu.sram> {sram.output}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %b = memref.get_global @b : memref<8xi32, #npu.flash>
    npu.conv2d ins(%x, %w, %b : memref<1x8x12x12xi8, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>, memref<8xi32, #npu.flash>) outs(%y : memref<1x8x12x12xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] groups 8 zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

// So it may where scalar loops go channel by channel.
// CHECK-LABEL: func.func @words
// CHECK-NOT:   kept
// OFFSETS-LABEL: func.func @words
// OFFSETS-SAME: sram.arena = 1165 : i64
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @words(%x: memref<1x8x12x12xi8, #npu.sram> {sram.input}, %y: memref<1x8x12x12xi8, #npu.sram> {sram.output}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] groups 8 zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

// The loops of two groups go one after the other, so the output stays behind its input by little more than a group.
// CHECK-LABEL: func.func @groups
// CHECK-NOT:   kept
// OFFSETS-LABEL: func.func @groups
// OFFSETS-SAME: sram.arena = 1608 : i64
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x4x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x4x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @groups(%x: memref<1x8x12x12xi8, #npu.sram> {sram.input}, %y: memref<1x8x12x12xi8, #npu.sram> {sram.output}) {
    %w = memref.get_global @w : memref<8x4x3x3xi8, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x4x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] groups 2 zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

// An output with channels last of one group writes a row of all channels for each row of one plane.
// CHECK-LABEL: func.func @one_group
// CHECK:       kept
// Windows of five by five on vectors go channel by channel as in scalar loops.
// CHECK-LABEL: func.func @five
// CHECK-NOT:   kept
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @one_group(%x: memref<1x8x12x12xi8, #npu.sram> {sram.input}, %y: memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.output}, %w: memref<8x8x3x3xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x8x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

builtin.module attributes {npu.target = #npu.target<"cortex-m55", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp", "mve"]}>} {
  func.func @five(%x: memref<1x8x12x12xi8, #npu.sram> {sram.input}, %y: memref<1x8x12x12xi8, #npu.sram> {sram.output}, %w: memref<8x1x5x5xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x1x5x5xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, #npu.sram>) strides [1, 1] pads [2, 2, 2, 2] groups 8 zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}
