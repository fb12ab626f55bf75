// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-assign-sram-offsets' | filecheck %s

// The loop reads row r and writes row r: %y lies on %x.
// CHECK-LABEL: func.func @in_order
// CHECK-SAME: sram.arena = 96
func.func @in_order() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    npu.relu ins(%line : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>) outs(%row : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>)
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// The loop reads row 5 - r and writes row r: %x is still read where %y is written already. The mark
// is a hint that is not believed.
// CHECK-LABEL: func.func @in_reverse
// CHECK-SAME: sram.arena = 192
func.func @in_reverse() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %q = arith.subi %c5, %r : index
    %line = memref.subview %x[0, 0, %q, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    npu.relu ins(%line : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>) outs(%row : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>)
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// The same with single elements.
// CHECK-LABEL: func.func @elements_in_reverse
// CHECK-SAME: sram.arena = 192
func.func @elements_in_reverse() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %q = arith.subi %c5, %r : index
    %a = memref.load %x[%c0, %c0, %q, %c1] : memref<1x1x6x16xi8, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c1] : memref<1x1x6x16xi8, #npu.sram>
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  func.return
}
