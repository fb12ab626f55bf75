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
