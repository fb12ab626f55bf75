// RUN: npu-opt %s --split-input-file --allow-unregistered-dialect -p npu-relayout-inputs | filecheck %s
// RUN: npu-opt %s --split-input-file --allow-unregistered-dialect -p npu-relayout-inputs,npu-choose-layouts,npu-overlay-maps,npu-assign-sram-offsets | filecheck %s --check-prefix=OFFSETS

// The output of 864 bytes has room for two maps of 216.
// CHECK-LABEL: func.func @copied
// CHECK:       %x_inside = sram.alloc : memref<1x24x3x3xi8, strided<[216, 1, 72, 24]>, #npu.sram>
// CHECK-NEXT:  npu.transpose ins(%x : memref<1x24x3x3xi8, #npu.sram>) outs(%x_inside : {{.*}}) perm [0, 1, 2, 3] {npu.layer = "image_copy"}
// CHECK-NEXT:  npu.conv2d ins(%x_inside,
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @copied(%x: memref<1x24x3x3xi8, #npu.sram> {sram.input, npu.name = "image"}, %y: memref<1x96x3x3xi8, #npu.sram> {sram.output}, %w: memref<96x24x3x3xi8, #npu.flash>) {
    npu.conv2d ins(%x, %w : memref<1x24x3x3xi8, #npu.sram>, memref<96x24x3x3xi8, #npu.flash>) outs(%y : memref<1x96x3x3xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    func.return
  }
}

// -----

// Behind the layer, maps of 160 and 256 bytes are the peak. Two maps of 256 bytes are more, so there is no copy. Beside
// the input there are 160 bytes, in which lines of 16 pixels and blocks of 8 lines fit: 16 and 128 bytes.
// CHECK:       sym_name = "in_place_x_moves"
// CHECK-LABEL: func.func @in_place
// CHECK:       %kept = sram.alloc : memref<16xi8, #npu.sram>
// CHECK:       %lines = memref.reinterpret_cast %x to offset: [0], sizes: [16, 16], strides: [16, 1]
// CHECK:       %block = sram.alloc : memref<16x8xi8, #npu.sram>
// CHECK:       scf.for %k = %{{.*}} to %c2 step
// CHECK:         npu.transpose ins(%planes_1 : memref<8x16xi8, strided<[16, 1], offset: ?>, #npu.sram>) outs(%block : memref<16x8xi8, #npu.sram>) perm [1, 0] {npu.layer = "x_pixels"}
// CHECK-NEXT:    %pixels_1 = memref.subview %pixels[%k, 0, 0]
// CHECK-NEXT:    "memref.copy"(%block, %pixels_1)
// CHECK:       %x_pixels = memref.reinterpret_cast %x to offset: [0], sizes: [1, 8, 4, 8], strides: [256, 1, 64, 8]
// CHECK:       npu.conv2d ins(%x_pixels,
// OFFSETS-LABEL: func.func @in_place
// OFFSETS-SAME: sram.arena = 416 : i64
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @in_place(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x5x4x8xi8, #npu.sram> {sram.output}, %w: memref<5x8x3x3xi8, #npu.flash>) {
    %a = sram.alloc : memref<1x5x4x8xi8, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<5x8x3x3xi8, #npu.flash>) outs(%a : memref<1x5x4x8xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    %b = sram.alloc : memref<1x8x4x8xi8, #npu.sram>
    "test.op"(%a, %b) : (memref<1x5x4x8xi8, #npu.sram>, memref<1x8x4x8xi8, #npu.sram>) -> ()
    "test.op"(%b, %y) : (memref<1x8x4x8xi8, #npu.sram>, memref<1x5x4x8xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// A loop over rows reads boxes of the copy.
// CHECK-LABEL: func.func @rows
// CHECK:       scf.for %k
// CHECK-NEXT:    %part = memref.subview %x_inside[0, 0, %k, 0] [1, 8, 1, 8] [1, 1, 1, 1] : memref<1x8x4x8xi8, strided<[256, 1, 64, 8]>, #npu.sram> to memref<1x8x1x8xi8, strided<[256, 1, 64, 8], offset: ?>, #npu.sram>
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @rows(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x24x4x8xi8, #npu.sram> {sram.output}, %w: memref<24x8x1x1xi8, #npu.flash>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %part = memref.subview %x[0, 0, %k, 0] [1, 8, 1, 8] [1, 1, 1, 1] : memref<1x8x4x8xi8, #npu.sram> to memref<1x8x1x8xi8, strided<[256, 32, 8, 1], offset: ?>, #npu.sram>
      %row = memref.subview %y[0, 0, %k, 0] [1, 24, 1, 8] [1, 1, 1, 1] : memref<1x24x4x8xi8, #npu.sram> to memref<1x24x1x8xi8, strided<[768, 32, 8, 1], offset: ?>, #npu.sram>
      npu.conv2d ins(%part, %w : memref<1x8x1x8xi8, strided<[256, 32, 8, 1], offset: ?>, #npu.sram>, memref<24x8x1x1xi8, #npu.flash>) outs(%row : memref<1x24x1x8xi8, strided<[768, 32, 8, 1], offset: ?>, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    }
    func.return
  }
}

// -----

// Another map of 256 bytes lives beside the input: with a copy there would be 768 bytes, and the layer has 640.
// CHECK-LABEL: func.func @beside
// CHECK-NOT:   inside
// CHECK:       npu.conv2d ins(%x_pixels,
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @beside(%x: memref<1x8x4x8xi8, #npu.sram> {sram.input}, %y: memref<1x12x4x8xi8, #npu.sram> {sram.output}, %w: memref<12x8x3x3xi8, #npu.flash>) {
    %a = sram.alloc : memref<1x8x4x8xi8, #npu.sram>
    "test.op"(%a) : (memref<1x8x4x8xi8, #npu.sram>) -> ()
    npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, #npu.sram>, memref<12x8x3x3xi8, #npu.flash>) outs(%y : memref<1x12x4x8xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    "test.op"(%a) : (memref<1x8x4x8xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Layers with windows read rows, and nothing else is known of the peak. A first row of 96 bytes is computed while all of the
// input is in use, so lines of 8 pixels have room: 8 and 64 bytes.
// CHECK-LABEL: func.func @windows
// CHECK:       %block = sram.alloc : memref<8x8xi8, #npu.sram>
// CHECK:       %part = memref.subview %x_pixels[
builtin.module attributes {npu.target = #npu.target<"cortex-m4", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, features = ["dsp"]}>} {
  func.func @windows(%x: memref<1x8x6x8xi8, #npu.sram> {sram.input}, %y: memref<1x12x4x8xi8, #npu.sram> {sram.output}, %w: memref<12x8x3x3xi8, #npu.flash>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %part = memref.subview %x[0, 0, %k, 0] [1, 8, 3, 8] [1, 1, 1, 1] : memref<1x8x6x8xi8, #npu.sram> to memref<1x8x3x8xi8, strided<[384, 48, 8, 1], offset: ?>, #npu.sram>
      %row = memref.subview %y[0, 0, %k, 0] [1, 12, 1, 8] [1, 1, 1, 1] : memref<1x12x4x8xi8, #npu.sram> to memref<1x12x1x8xi8, strided<[384, 32, 8, 1], offset: ?>, #npu.sram>
      npu.conv2d ins(%part, %w : memref<1x8x3x8xi8, strided<[384, 48, 8, 1], offset: ?>, #npu.sram>, memref<12x8x3x3xi8, #npu.flash>) outs(%row : memref<1x12x1x8xi8, strided<[384, 32, 8, 1], offset: ?>, #npu.sram>) strides [1, 1] pads [0, 1, 0, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
    }
    func.return
  }
}
