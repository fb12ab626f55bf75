// RUN: npu-opt %s --split-input-file -p npu-reorder-inputs | filecheck %s
// RUN: npu-opt %s --split-input-file -p npu-reorder-inputs,npu-overlay-maps,npu-assign-sram-offsets | filecheck %s --check-prefix=OFFSETS

// The rows of two planes of three rows move to [row 0 of both, row 1 of both, row 2 of both]: one cycle of four rows.
// CHECK:       sym_name = "integers_x_moves", {{.*}}initial_value = dense<[-1, 1, 3, 4, 2, -1]> : tensor<6xi16>
// CHECK-LABEL: func.func @integers
// CHECK:       %kept = sram.alloc : memref<8xi8, #npu.sram>
// CHECK:       %lines = memref.reinterpret_cast %x to offset: [0], sizes: [6, 8], strides: [8, 1]
// CHECK:       scf.for %m = %{{.*}} to %c5 step
// CHECK:         "memref.copy"(%line, %kept)
// CHECK:         "memref.copy"(%kept, %{{.*}})
// CHECK:         "memref.copy"(%{{.*}}, %{{.*}}) : (memref<8xi8, strided<[1], offset: ?>, #npu.sram>, memref<8xi8, strided<[1], offset: ?>, #npu.sram>)
// CHECK:       %x_rows = memref.reinterpret_cast %x to offset: [0], sizes: [1, 2, 3, 8], strides: [48, 8, 16, 1]
// CHECK:       npu.conv2d ins(%x_rows,
// Side by side, the maps take 48 and 96 bytes.
// OFFSETS-LABEL: func.func @integers
// OFFSETS-SAME: sram.arena = 127 : i64
func.func @integers(%x: memref<1x2x3x8xi8, #npu.sram> {sram.input}, %y: memref<1x4x3x8xi8, strided<[96, 1, 32, 4]>, #npu.sram> {sram.output}, %w: memref<4x2x3x3xi8, #npu.flash>) {
  npu.conv2d ins(%x, %w : memref<1x2x3x8xi8, #npu.sram>, memref<4x2x3x3xi8, #npu.flash>) outs(%y : memref<1x4x3x8xi8, strided<[96, 1, 32, 4]>, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
  func.return
}

// -----

// With one tap, each pixel is read for the last time when its output is written, also in planes. So the rows stay, and nothing moves.
// CHECK-LABEL: func.func @pixels
// CHECK-NOT:   kept
// CHECK:       npu.conv2d ins(%x,
// OFFSETS-LABEL: func.func @pixels
// OFFSETS-SAME: sram.arena = 48 : i64
func.func @pixels(%x: memref<1x2x3x8xi8, #npu.sram> {sram.input}, %y: memref<1x1x3x8xi8, #npu.sram> {sram.output}, %w: memref<1x2x1x1xi8, #npu.flash>) {
  npu.conv2d ins(%x, %w : memref<1x2x3x8xi8, #npu.sram>, memref<1x2x1x1xi8, #npu.flash>) outs(%y : memref<1x1x3x8xi8, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1] zero_point 0 mode float
  func.return
}

// -----

// CHECK-LABEL: func.func @floats
// CHECK:       "memref.copy"(%line, %kept)
// CHECK:       npu.conv2d ins(%x_rows,
func.func @floats(%x: memref<1x2x3x5xf32, #npu.sram> {sram.input}, %y: memref<1x4x3x5xf32, strided<[60, 1, 20, 4]>, #npu.sram> {sram.output}, %w: memref<4x2x3x3xf32, #npu.flash>) {
  npu.conv2d ins(%x, %w : memref<1x2x3x5xf32, #npu.sram>, memref<4x2x3x3xf32, #npu.flash>) outs(%y : memref<1x4x3x5xf32, strided<[60, 1, 20, 4]>, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1]
  func.return
}

// -----

// A loop over rows reads windows of the input, which follow it.
// CHECK-LABEL: func.func @rows
// CHECK:       %window = memref.subview %x_rows[0, 0, %t, 0] [1, 2, 1, 8] [1, 1, 1, 1] : memref<1x2x3x8xi8, strided<[48, 8, 16, 1]>, #npu.sram> to memref<1x2x1x8xi8, strided<[48, 8, 16, 1], offset: ?>, #npu.sram>
func.func @rows(%x: memref<1x2x3x8xi8, #npu.sram> {sram.input}, %y: memref<1x2x3x8xi8, #npu.sram> {sram.output}, %w: memref<2x2x1x1xi8, #npu.flash>) {
  %c0, %c1, %c3 = "test.op"() : () -> (index, index, index)
  scf.for %t = %c0 to %c3 step %c1 {
    %window = memref.subview %x[0, 0, %t, 0] [1, 2, 1, 8] [1, 1, 1, 1] : memref<1x2x3x8xi8, #npu.sram> to memref<1x2x1x8xi8, strided<[48, 24, 8, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %t, 0] [1, 2, 1, 8] [1, 1, 1, 1] : memref<1x2x3x8xi8, #npu.sram> to memref<1x2x1x8xi8, strided<[48, 24, 8, 1], offset: ?>, #npu.sram>
    npu.conv2d ins(%window, %w : memref<1x2x1x8xi8, strided<[48, 24, 8, 1], offset: ?>, #npu.sram>, memref<2x2x1x1xi8, #npu.flash>) outs(%row : memref<1x2x1x8xi8, strided<[48, 24, 8, 1], offset: ?>, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.1, 0.1] zero_point 0 mode float
  }
  func.return
}
