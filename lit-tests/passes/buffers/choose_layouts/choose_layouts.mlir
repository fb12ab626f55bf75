// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-choose-layouts | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-choose-layouts,npu-choose-layouts | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-choose-layouts,npu-assign-sram-offsets | filecheck %s --check-prefix=OFFSETS

// It rejects nothing: a map that it cannot lay out so keeps its layout (no_op.mlir).

// Maps between layers get their channels last; the arguments stay, and so do shapes and layers.
// CHECK-LABEL: func.func @between
// CHECK-SAME: %x: memref<1x4x6x5xi8, #npu.sram> {sram.input}, %y: memref<1x4x6x5xui8, #npu.sram> {sram.output}
// CHECK: %a = sram.alloc : memref<1x4x6x5xi8, strided<[120, 1, 20, 4]>, #npu.sram>
// CHECK-NEXT: npu.relu ins(%x : memref<1x4x6x5xi8, #npu.sram>) outs(%a : memref<1x4x6x5xi8, strided<[120, 1, 20, 4]>, #npu.sram>)
// CHECK: %b = sram.alloc : memref<1x4x6x5xui8, strided<[120, 1, 20, 4]>, #npu.sram>
// CHECK-NEXT: npu.requantize ins(%a : memref<1x4x6x5xi8, strided<[120, 1, 20, 4]>, #npu.sram>) outs(%b : memref<1x4x6x5xui8, strided<[120, 1, 20, 4]>, #npu.sram>)
// CHECK: npu.relu ins(%b : {{.*}}) outs(%y : memref<1x4x6x5xui8, #npu.sram>)

// A map takes the same bytes in either layout.
// OFFSETS-LABEL: func.func @between
// OFFSETS-SAME: sram.arena = 240
func.func @between(%x : memref<1x4x6x5xi8, #npu.sram> {sram.input}, %y : memref<1x4x6x5xui8, #npu.sram> {sram.output}) {
  %a = sram.alloc : memref<1x4x6x5xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x6x5xi8, #npu.sram>) outs(%a : memref<1x4x6x5xi8, #npu.sram>)
  %b = sram.alloc : memref<1x4x6x5xui8, #npu.sram>
  npu.requantize ins(%a : memref<1x4x6x5xi8, #npu.sram>) outs(%b : memref<1x4x6x5xui8, #npu.sram>) scales [1.0] zero_points [0, 128] mode float
  npu.relu ins(%b : memref<1x4x6x5xui8, #npu.sram>) outs(%y : memref<1x4x6x5xui8, #npu.sram>)
  func.return
}

// -----

// More than one image: images stay outermost.
// CHECK-LABEL: func.func @images
// CHECK: sram.alloc : memref<2x5x1x3xi8, strided<[15, 1, 15, 5]>, #npu.sram>
// OFFSETS-LABEL: func.func @images
func.func @images(%x : memref<2x5x1x3xi8, #npu.sram>, %y : memref<2x5x1x3xi8, #npu.sram>) {
  %a = sram.alloc : memref<2x5x1x3xi8, #npu.sram>
  npu.relu ins(%x : memref<2x5x1x3xi8, #npu.sram>) outs(%a : memref<2x5x1x3xi8, #npu.sram>)
  npu.relu ins(%a : memref<2x5x1x3xi8, #npu.sram>) outs(%y : memref<2x5x1x3xi8, #npu.sram>)
  func.return
}

// The slices of a map follow it: the parts of a concatenation, and the phases of an interleaving.
// CHECK-LABEL: func.func @slices
// CHECK:       %y = sram.alloc : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>
// CHECK-NEXT:  %part = memref.subview %y[0, 4, 0, 0] [1, 4, 4, 4] [1, 1, 1, 1] : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram> to memref<1x4x4x4xi8, strided<[128, 1, 32, 8], offset: 4>, #npu.sram>
// CHECK:       %phase = memref.subview %y[0, 0, 0, 1] [1, 8, 4, 2] [1, 1, 1, 2] : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram> to memref<1x8x4x2xi8, strided<[128, 1, 32, 16], offset: 8>, #npu.sram>
func.func @slices(%a: memref<1x4x4x4xi8, #npu.sram>, %b: memref<1x8x4x2xi8, #npu.sram>) {
  %y = sram.alloc : memref<1x8x4x4xi8, #npu.sram>
  %part = memref.subview %y[0, 4, 0, 0] [1, 4, 4, 4] [1, 1, 1, 1] : memref<1x8x4x4xi8, #npu.sram> to memref<1x4x4x4xi8, strided<[128, 16, 4, 1], offset: 64>, #npu.sram>
  npu.relu ins(%a : memref<1x4x4x4xi8, #npu.sram>) outs(%part : memref<1x4x4x4xi8, strided<[128, 16, 4, 1], offset: 64>, #npu.sram>)
  %phase = memref.subview %y[0, 0, 0, 1] [1, 8, 4, 2] [1, 1, 1, 2] : memref<1x8x4x4xi8, #npu.sram> to memref<1x8x4x2xi8, strided<[128, 16, 4, 2], offset: 1>, #npu.sram>
  npu.relu ins(%b : memref<1x8x4x2xi8, #npu.sram>) outs(%phase : memref<1x8x4x2xi8, strided<[128, 16, 4, 2], offset: 1>, #npu.sram>)
  func.return
}
