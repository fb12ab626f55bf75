// RUN: npu-opt %s --split-input-file --allow-unregistered-dialect -p npu-relayout-inputs | filecheck %s

// Left alone: floats, three channels, one pixel, a map that something else uses, one that is written, a layer with few products, a depthwise one, one without a kernel, and no room.
// CHECK-NOT: npu.transpose
// CHECK-NOT: memref.reinterpret_cast
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @floats(%x: memref<1x8x4x8xf32, #npu.sram> {sram.input}, %y: memref<1x96x4x8xf32, #npu.sram> {sram.output}, %w: memref<96x8x1x1xf32, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xf32, #npu.sram>, memref<96x8x1x1xf32, #npu.flash>) outs(%y : memref<1x96x4x8xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
    func.return
  }
  func.func @three_channels(%x: memref<1x3x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x96x4x8xi8, #npu.sram> {sram.output}, %w: memref<96x3x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x3x4x8xi8, #npu.sram>, memref<96x3x1x1xi8, #npu.flash>) outs(%y : memref<1x96x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
  func.func @one_pixel(%x: memref<1x8x1x1xi8, #npu.sram> {sram.input}, %y: memref<1x96x1x1xi8, #npu.sram> {sram.output}, %w: memref<96x8x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x1x1xi8, #npu.sram>, memref<96x8x1x1xi8, #npu.flash>) outs(%y : memref<1x96x1x1xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
  func.func @used_by_another(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x96x4x8xi8, #npu.sram> {sram.output}, %w: memref<96x8x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<96x8x1x1xi8, #npu.flash>) outs(%y : memref<1x96x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    "test.op"(%x) : (memref<1x8x4x8xi8, #npu.sram>) -> ()
    func.return
  }
  func.func @written(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x96x4x8xi8, #npu.sram> {sram.output}, %w: memref<96x8x1x1xi8, #npu.flash>, %v: memref<8x96x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<96x8x1x1xi8, #npu.flash>) outs(%y : memref<1x96x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    npu.conv2d ins(%y, %v : memref<1x96x4x8xi8, #npu.sram>, memref<8x96x1x1xi8, #npu.flash>) outs(%x : memref<1x8x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
  func.func @few_products(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x1x4x8xi8, #npu.sram> {sram.output}, %w: memref<1x8x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<1x8x1x1xi8, #npu.flash>) outs(%y : memref<1x1x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
  func.func @depthwise(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x96x4x8xi8, #npu.sram> {sram.output}, %w: memref<96x1x3x3xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<96x1x3x3xi8, #npu.flash>) outs(%y : memref<1x96x4x8xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] groups 8 zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
  func.func @no_kernel(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x96x4x8xi8, #npu.sram> {sram.output}, %w: memref<96x8x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<96x8x1x1xi8, #npu.flash>) outs(%y : memref<1x96x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 3] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
  func.func @no_room(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x5x4x8xi8, #npu.sram> {sram.output}, %w: memref<5x8x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<5x8x1x1xi8, #npu.flash>) outs(%y : memref<1x5x4x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

// Without dual multiply-accumulates there is nothing to win.
// CHECK-LABEL: func.func @other_machine
// CHECK-NOT:   npu.transpose
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["rv32imac"]}>} {
  func.func @other_machine(%x: memref<1x24x3x3xi8, #npu.sram> {sram.input}, %y: memref<1x96x3x3xi8, #npu.sram> {sram.output}, %w: memref<96x24x1x1xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x24x3x3xi8, #npu.sram>, memref<96x24x1x1xi8, #npu.flash>) outs(%y : memref<1x96x3x3xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

// At the peak an output may follow planes more closely than pixels, by more than a twentieth of the arena.
// CHECK-LABEL: func.func @farther
// CHECK-NOT:   npu.transpose
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<32x8x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<32x8x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @farther(%x: memref<1x8x12x12xi8, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<32x8x3x3xi8, #npu.flash>
    %a = sram.alloc : memref<1x32x12x12xi8, strided<[4608, 1, 384, 32]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<32x8x3x3xi8, #npu.flash>) outs(%a : memref<1x32x12x12xi8, strided<[4608, 1, 384, 32]>, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    "test.op"(%a) : (memref<1x32x12x12xi8, strided<[4608, 1, 384, 32]>, #npu.sram>) -> ()
    func.return
  }
}
