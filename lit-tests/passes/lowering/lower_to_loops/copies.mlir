// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=fe310},npu-lower-to-loops' | filecheck %s --check-prefix=ELEMENTS
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-lower-to-loops' | filecheck %s --check-prefix=FLOATS

// Rows of a map with its channels last move up as one run: 42 bytes are two turns of four words,
// two words and two bytes.
// CHECK-LABEL: func.func @move_up
// CHECK: [[FROM:%.*]] = sram.span %from : memref<1x7x2x3xi8, strided<[63, 1, 21, 7], offset: 21>, #npu.sram> to memref<42xi8, #npu.sram>
// CHECK-NEXT: [[TO:%.*]] = sram.span %to
// CHECK: scf.for %i = %c0 to %c32 step %c16
// CHECK-COUNT-4: dsp.load_word [[FROM]]
// CHECK-COUNT-4: dsp.store_word {{.*}}, [[TO]]
// CHECK: dsp.load_word [[FROM]][%c32]
// CHECK-NEXT: dsp.load_word [[FROM]][%c36]
// CHECK: dsp.store_word
// CHECK-NEXT: dsp.store_word
// CHECK-NEXT: memref.load [[FROM]][%c40]
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.load [[FROM]][%c41]
// CHECK-NEXT: memref.store
// CHECK-NEXT: func.return
// ELEMENTS-LABEL: func.func @move_up
// ELEMENTS: scf.for %i = %c0 to %c42 step %c1
// ELEMENTS-NEXT: memref.load
// ELEMENTS-NEXT: memref.store
// ELEMENTS-NOT: dsp.
func.func @move_up(%m : memref<1x7x3x3xi8, strided<[63, 1, 21, 7]>, #npu.sram>) {
  %from = memref.subview %m[0, 0, 1, 0] [1, 7, 2, 3] [1, 1, 1, 1] : memref<1x7x3x3xi8, strided<[63, 1, 21, 7]>, #npu.sram> to memref<1x7x2x3xi8, strided<[63, 1, 21, 7], offset: 21>, #npu.sram>
  %to = memref.subview %m[0, 0, 0, 0] [1, 7, 2, 3] [1, 1, 1, 1] : memref<1x7x3x3xi8, strided<[63, 1, 21, 7]>, #npu.sram> to memref<1x7x2x3xi8, strided<[63, 1, 21, 7]>, #npu.sram>
  "memref.copy"(%from, %to) : (memref<1x7x2x3xi8, strided<[63, 1, 21, 7], offset: 21>, #npu.sram>, memref<1x7x2x3xi8, strided<[63, 1, 21, 7]>, #npu.sram>) -> ()
  func.return
}

// -----

// A row of three planes is three runs. A map that changes its layout is copied by elements.
// CHECK-LABEL: func.func @planes
// CHECK: scf.for %i = %c0 to %c3 step %c1
// CHECK-COUNT-2: dsp.load_word
// CHECK-LABEL: func.func @other_layout
// CHECK: scf.for
// CHECK-NOT: dsp.
// ELEMENTS-LABEL: func.func @planes
func.func @planes(%m : memref<1x3x5x8xi8, #npu.sram>, %y : memref<1x3x1x8xi8, #npu.sram>, %r : index) {
  %row = memref.subview %m[0, 0, %r, 0] [1, 3, 1, 8] [1, 1, 1, 1] : memref<1x3x5x8xi8, #npu.sram> to memref<1x3x1x8xi8, strided<[120, 40, 8, 1], offset: ?>, #npu.sram>
  "memref.copy"(%row, %y) : (memref<1x3x1x8xi8, strided<[120, 40, 8, 1], offset: ?>, #npu.sram>, memref<1x3x1x8xi8, #npu.sram>) -> ()
  func.return
}
func.func @other_layout(%m : memref<1x4x5x8xi8, #npu.sram>, %y : memref<1x4x1x8xi8, strided<[32, 1, 32, 4]>, #npu.sram>, %r : index) {
  %row = memref.subview %m[0, 0, %r, 0] [1, 4, 1, 8] [1, 1, 1, 1] : memref<1x4x5x8xi8, #npu.sram> to memref<1x4x1x8xi8, strided<[160, 40, 8, 1], offset: ?>, #npu.sram>
  "memref.copy"(%row, %y) : (memref<1x4x1x8xi8, strided<[160, 40, 8, 1], offset: ?>, #npu.sram>, memref<1x4x1x8xi8, strided<[32, 1, 32, 4]>, #npu.sram>) -> ()
  func.return
}

// -----

// Copies of whole buffers are left to the C. Floats are words: blocks of 16, or half as many of them
// in a turn as there are registers for floats, or four.
// CHECK-LABEL: func.func @whole
// CHECK: memref.copy
// CHECK: scf.for %i = %c0 to %c32 step %c16
// CHECK: dsp.copy_words 16 from [[ROW:%.*]][%i] to [[OUT:%.*]][%i]
// CHECK: dsp.copy_words 8 from [[ROW]][%c32] to [[OUT]][%c32]
// CHECK-NOT: dsp.
// CHECK-NOT: memref.copy
// FLOATS-LABEL: func.func @whole
// FLOATS: scf.for %i = %c0 to %c40 step %c8
// FLOATS-COUNT-8: memref.load
// FLOATS-COUNT-8: memref.store
// ELEMENTS-LABEL: func.func @whole
// ELEMENTS: scf.for %i = %c0 to %c40 step %c4
// ELEMENTS-COUNT-4: memref.load
// ELEMENTS-NEXT: memref.store
func.func @whole(%a : memref<64xi8, #npu.sram>, %b : memref<64xi8, #npu.sram>, %c : memref<8x40xf32, #npu.sram>, %d : memref<1x40xf32, #npu.sram>) {
  "memref.copy"(%a, %b) : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>) -> ()
  %row = memref.subview %c[2, 0] [1, 40] [1, 1] : memref<8x40xf32, #npu.sram> to memref<1x40xf32, strided<[40, 1], offset: 80>, #npu.sram>
  "memref.copy"(%row, %d) : (memref<1x40xf32, strided<[40, 1], offset: 80>, #npu.sram>, memref<1x40xf32, #npu.sram>) -> ()
  func.return
}
