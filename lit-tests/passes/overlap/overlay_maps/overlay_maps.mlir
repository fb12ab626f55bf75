// RUN: npu-opt %s -p npu-overlay-maps --allow-unregistered-dialect --split-input-file | filecheck %s

// Output element (y, x) is written before the window of (y, x + 1) is read, from (y - 1, x) on:
// forwards a row and an element apart. Backwards, only the order of rows is turned.
// CHECK-LABEL: func.func @depthwise
// CHECK:       npu.max_pool2d {{.*}} {npu.overlays = array<i64: 0, 1, 17, 33>}
func.func @depthwise(%x : memref<1x1x16x16xi8, #npu.sram> {sram.input}) {
  %y = sram.alloc : memref<1x1x16x16xi8, #npu.sram>
  npu.max_pool2d ins(%x : memref<1x1x16x16xi8, #npu.sram>) outs(%y : memref<1x1x16x16xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
  "use"(%y) : (memref<1x1x16x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// Planes one after the other: each filter reads the whole input, so only the last one may overlap it.
// CHECK-LABEL: func.func @planes
// CHECK:       npu.conv2d {{.*}} {npu.overlays = array<i64: 0, 2, 768, 512>}
func.func @planes(%x : memref<1x2x8x8xf32, #npu.sram> {sram.input}, %w : memref<4x2x1x1xf32>) {
  %y = sram.alloc : memref<1x4x8x8xf32, #npu.sram>
  npu.conv2d ins(%x, %w : memref<1x2x8x8xf32, #npu.sram>, memref<4x2x1x1xf32>) outs(%y : memref<1x4x8x8xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  "use"(%y) : (memref<1x4x8x8xf32, #npu.sram>) -> ()
  func.return
}

// -----

// Left alone: an input that is read later, and one that runs in place.
// CHECK-LABEL: func.func @read_later
// CHECK-NOT:   npu.overlays
func.func @read_later(%x : memref<1x1x16x16xi8, #npu.sram> {sram.input}) {
  %y = sram.alloc : memref<1x1x16x16xi8, #npu.sram>
  npu.max_pool2d ins(%x : memref<1x1x16x16xi8, #npu.sram>) outs(%y : memref<1x1x16x16xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
  npu.relu ins(%y : memref<1x1x16x16xi8, #npu.sram>) outs(%y : memref<1x1x16x16xi8, #npu.sram>)
  "use"(%x, %y) : (memref<1x1x16x16xi8, #npu.sram>, memref<1x1x16x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// Sizes only, no numbers: there are no loops to follow.
// CHECK-LABEL: func.func @planned
// CHECK-NOT:   npu.overlays
builtin.module attributes {npu.planned_as = i8} {
  func.func @planned(%x : memref<1x1x16x16xi8, #npu.sram> {sram.input}) {
    %y = sram.alloc : memref<1x1x16x16xi8, #npu.sram>
    npu.max_pool2d ins(%x : memref<1x1x16x16xi8, #npu.sram>) outs(%y : memref<1x1x16x16xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
    "use"(%y) : (memref<1x1x16x16xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Without instructions on words, the pixels of a 1x1 convolution are one row of elements, a view whose type does not say
// where it starts. Two pixels are read before they are written; the last filters of the first one read both again.
// CHECK-LABEL: func.func @pixels
// CHECK:       npu.conv2d {{.*}}npu.overlays = array<i64: 0, 3, 12, 
builtin.module attributes {npu.target = #npu.target<"plain", {sram_bytes = 4096 : i64, flash_bytes = 65536 : i64, registers = 0 : i64}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x8x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<8x8x1x1xi8>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<8xi32, #npu.flash>, initial_value = dense<0> : tensor<8xi32>, sym_visibility = "private", constant}> : () -> ()
  func.func @pixels(%x : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x8x1x1xi8, #npu.flash>
    %b = memref.get_global @b : memref<8xi32, #npu.flash>
    %y = sram.alloc : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w, %b : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>, memref<8x8x1x1xi8, #npu.flash>, memref<8xi32, #npu.flash>) outs(%y : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float
    "use"(%y) : (memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Each output overwrites its own channel of pixels only, so input and output may begin at the same byte, or not meet.
// CHECK-LABEL: func.func @over_input
// CHECK:       npu.conv2d {{.*}} {npu.by_channel, npu.over_input, npu.overlays = array<i64: 0, 2, 0, -2>}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @over_input(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float {npu.by_channel, npu.over_input}
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// The first two pixels of the second image are bytes 48 to 93 of the output. They are written before the next pixel of the
// input is read, which begins at byte 24: 70 bytes apart. In one image these would be bytes 45 and 8: 38.
// CHECK-LABEL: func.func @images
// CHECK:       npu.conv2d {{.*}} {npu.overlays = array<i64: 0, 2, 70, 16>}
"memref.global"() <{sym_name = "w", type = memref<12x4x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<12x4x1x1xi8>, sym_visibility = "private", constant}> : () -> ()
func.func @images(%x : memref<2x4x2x2xi8, strided<[16, 1, 8, 4]>, #npu.sram> {sram.input}, %y : memref<2x12x2x2xi8, #npu.sram> {sram.output}) {
  %w = memref.get_global @w : memref<12x4x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<2x4x2x2xi8, strided<[16, 1, 8, 4]>, #npu.sram>, memref<12x4x1x1xi8, #npu.flash>) outs(%y : memref<2x12x2x2xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
  func.return
}
