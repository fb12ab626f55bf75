// RUN: npu-opt %s --split-input-file -p 'npu-choose-layouts{rows=true}' | filecheck %s
// RUN: npu-opt %s --split-input-file -p npu-choose-layouts | filecheck %s --check-prefix=PLAIN
// RUN: npu-opt %s --split-input-file -p 'npu-choose-layouts{rows=true},npu-overlay-maps,npu-assign-sram-offsets' | filecheck %s --check-prefix=OFFSETS

// The layer at the peak computes all channels of a row before the next one, so its output follows its input.
// CHECK-LABEL: func.func @peak
// CHECK:       %a = sram.alloc : memref<1x3x6x5xf32, strided<[90, 5, 15, 1]>, #npu.sram>
// CHECK:       %b = sram.alloc : memref<1x3x6x5xf32, strided<[90, 5, 15, 1]>, #npu.sram>
// CHECK:       npu.max_pool2d ins(%b : memref<1x3x6x5xf32, strided<[90, 5, 15, 1]>, #npu.sram>) outs(%y : memref<1x3x2x1xf32, #npu.sram>)
// PLAIN-LABEL: func.func @peak
// PLAIN:       %a = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
// Side by side, the maps take 2 * 360 bytes.
// OFFSETS-LABEL: func.func @peak
// OFFSETS-SAME: sram.arena = 464 : i64
func.func @peak(%x: memref<1x1x6x5xf32, #npu.sram> {sram.input}, %y: memref<1x3x2x1xf32, #npu.sram> {sram.output}, %w: memref<3x1x1x1xf32, #npu.flash>, %v: memref<3x3x3x3xf32, #npu.flash>) {
  %a = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  %b = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  npu.conv2d ins(%x, %w : memref<1x1x6x5xf32, #npu.sram>, memref<3x1x1x1xf32, #npu.flash>) outs(%a : memref<1x3x6x5xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  npu.conv2d ins(%a, %v : memref<1x3x6x5xf32, #npu.sram>, memref<3x3x3x3xf32, #npu.flash>) outs(%b : memref<1x3x6x5xf32, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1]
  npu.max_pool2d ins(%b : memref<1x3x6x5xf32, #npu.sram>) outs(%y : memref<1x3x2x1xf32, #npu.sram>) kernel [3, 3] strides [3, 3] pads [0, 0, 0, 0]
  func.return
}

// -----

// A map that another layer reads keeps the model's layout.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:   strided
func.func @softmax(%x: memref<1x1x6x5xf32, #npu.sram> {sram.input}, %y: memref<1x3x6x5xf32, #npu.sram> {sram.output}, %w: memref<3x1x1x1xf32, #npu.flash>) {
  %a = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  npu.conv2d ins(%x, %w : memref<1x1x6x5xf32, #npu.sram>, memref<3x1x1x1xf32, #npu.flash>) outs(%a : memref<1x3x6x5xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  npu.softmax ins(%a : memref<1x3x6x5xf32, #npu.sram>) outs(%y : memref<1x3x6x5xf32, #npu.sram>) axis 1
  func.return
}

// -----

// A loop reads and writes maps in rows, and keeps rows in a ring: of each, a row is one run. The ring of a softmax keeps the model's layout.
// CHECK-LABEL: func.func @rings
// CHECK:       %x = sram.alloc : memref<1x3x6x5xf32, strided<[90, 5, 15, 1]>, #npu.sram>
// CHECK:       %y = sram.alloc : memref<1x3x6x5xf32, strided<[90, 5, 15, 1]>, #npu.sram>
// CHECK:       %ring = sram.alloc : memref<1x3x2x5xf32, strided<[30, 5, 15, 1]>, #npu.sram>
// CHECK:       %other = sram.alloc : memref<1x3x2x5xf32, #npu.sram>
// CHECK:         "memref.copy"(%new, %old) : (memref<1x3x1x5xf32, strided<[30, 5, 15, 1], offset: 15>, #npu.sram>, memref<1x3x1x5xf32, strided<[30, 5, 15, 1]>, #npu.sram>)
// PLAIN-LABEL: func.func @rings
// PLAIN-NOT:   [30, 5, 15, 1]
func.func @rings(%in: memref<1x1x6x5xf32, #npu.sram> {sram.input}, %out: memref<1x3x2x1xf32, #npu.sram> {sram.output}, %w: memref<3x1x1x1xf32, #npu.flash>) {
  %c0, %c1, %c6 = "test.op"() : () -> (index, index, index)
  %x = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  npu.conv2d ins(%in, %w : memref<1x1x6x5xf32, #npu.sram>, memref<3x1x1x1xf32, #npu.flash>) outs(%x : memref<1x3x6x5xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  %y = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  %ring = sram.alloc : memref<1x3x2x5xf32, #npu.sram>
  %other = sram.alloc : memref<1x3x2x5xf32, #npu.sram>
  scf.for %t = %c0 to %c6 step %c1 {
    %new = memref.subview %ring[0, 0, 1, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x2x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>
    %old = memref.subview %ring[0, 0, 0, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x2x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[30, 10, 5, 1]>, #npu.sram>
    "memref.copy"(%new, %old) : (memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>, memref<1x3x1x5xf32, strided<[30, 10, 5, 1]>, #npu.sram>) -> ()
    %read = memref.subview %x[0, 0, %t, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x6x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>
    npu.relu ins(%read : memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>) outs(%new : memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>)
    %line = memref.subview %other[0, 0, 1, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x2x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>
    npu.softmax ins(%line : memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>) outs(%line : memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>) axis 1
    %row = memref.subview %y[0, 0, %t, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x6x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>
    npu.add ins(%old, %new : memref<1x3x1x5xf32, strided<[30, 10, 5, 1]>, #npu.sram>, memref<1x3x1x5xf32, strided<[30, 10, 5, 1], offset: 5>, #npu.sram>) outs(%row : memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>)
  }
  npu.max_pool2d ins(%y : memref<1x3x6x5xf32, #npu.sram>) outs(%out : memref<1x3x2x1xf32, #npu.sram>) kernel [3, 3] strides [3, 3] pads [0, 0, 0, 0]
  func.return
}

// -----

// The result of the loop may lie over the loop's input. Then the convolution behind it is at the peak.
// CHECK-LABEL: func.func @behind_a_loop
// CHECK:       %z = sram.alloc : memref<1x2x6x5xf32, strided<[60, 5, 10, 1]>, #npu.sram>
func.func @behind_a_loop(%in: memref<1x1x6x5xf32, #npu.sram> {sram.input}, %out: memref<1x2x2x1xf32, #npu.sram> {sram.output}, %w: memref<3x1x1x1xf32, #npu.flash>, %v: memref<2x3x1x1xf32, #npu.flash>) {
  %c0, %c1, %c6 = "test.op"() : () -> (index, index, index)
  %x = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  npu.conv2d ins(%in, %w : memref<1x1x6x5xf32, #npu.sram>, memref<3x1x1x1xf32, #npu.flash>) outs(%x : memref<1x3x6x5xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  %y = sram.alloc : memref<1x3x6x5xf32, #npu.sram>
  scf.for %t = %c0 to %c6 step %c1 {
    %read = memref.subview %x[0, 0, %t, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x6x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %t, 0] [1, 3, 1, 5] [1, 1, 1, 1] : memref<1x3x6x5xf32, #npu.sram> to memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>
    npu.relu ins(%read : memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>) outs(%row : memref<1x3x1x5xf32, strided<[90, 30, 5, 1], offset: ?>, #npu.sram>)
  }
  %z = sram.alloc : memref<1x2x6x5xf32, #npu.sram>
  npu.conv2d ins(%y, %v : memref<1x3x6x5xf32, #npu.sram>, memref<2x3x1x1xf32, #npu.flash>) outs(%z : memref<1x2x6x5xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  npu.max_pool2d ins(%z : memref<1x2x6x5xf32, #npu.sram>) outs(%out : memref<1x2x2x1xf32, #npu.sram>) kernel [3, 3] strides [3, 3] pads [0, 0, 0, 0]
  func.return
}
