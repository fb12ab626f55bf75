// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-assign-sram-offsets' --allow-unregistered-dialect | filecheck %s

// The loop copies row r to %t before it writes row r: %y lies on %x, %t beside them.
// CHECK-LABEL: func.func @in_order
// CHECK-SAME: sram.arena = 112
func.func @in_order() {
  %t = sram.alloc : memref<1x1x1x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    npu.relu ins(%line : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>) outs(%t : memref<1x1x1x16xi8, #npu.sram>)
    npu.relu ins(%t : memref<1x1x1x16xi8, #npu.sram>) outs(%row : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>)
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

// -----

// Columns of one row, in reverse: rounds of the inner loop read what earlier ones have written.
// CHECK-LABEL: func.func @columns_in_reverse
// CHECK-SAME: sram.arena = 192
func.func @columns_in_reverse() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    scf.for %c = %c0 to %c16 step %c1 {
      %q = arith.subi %c15, %c : index
      %a = memref.load %line[%c0, %c0, %c0, %q] : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
      memref.store %a, %row[%c0, %c0, %c0, %c] : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    }
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// A round that is not the first reads what is written.
// CHECK-LABEL: func.func @in_some_rounds
// CHECK-SAME: sram.arena = 192
func.func @in_some_rounds() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    scf.for %c = %c0 to %c16 step %c1 {
      %last = arith.cmpi eq, %c, %c15 : index
      scf.if %last {
        %a = memref.load %line[%c0, %c0, %c0, %c0] : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
      } else {
        %zero = arith.constant 0 : i8
        memref.store %zero, %row[%c0, %c0, %c0, %c] : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
      }
    }
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// An op with a region of another dialect may do anything with what it sees.
// CHECK-LABEL: func.func @regions
// CHECK-SAME: sram.arena = 192
func.func @regions() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xi8, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %zero = arith.constant 0 : i8
    memref.store %zero, %row[%c0, %c0, %c0, %c1] : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    "test.region"() ({
      %a = memref.load %line[%c0, %c0, %c0, %c1] : memref<1x1x1x16xi8, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    }) : () -> ()
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// A layer reads a row while it writes the same one: a softmax needs all of it until the end.
// CHECK-LABEL: func.func @at_once
// CHECK-SAME: sram.arena = 768
func.func @at_once() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c6 = arith.constant 6 : index
  %x = sram.alloc : memref<1x1x6x16xf32, #npu.sram>
  %y = sram.alloc : memref<1x1x6x16xf32, #npu.sram>
  "test.op"(%x) : (memref<1x1x6x16xf32, #npu.sram>) -> ()
  scf.for %r = %c0 to %c6 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xf32, #npu.sram> to memref<1x1x1x16xf32, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x6x16xf32, #npu.sram> to memref<1x1x1x16xf32, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>
    npu.softmax ins(%line : memref<1x1x1x16xf32, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>) outs(%row : memref<1x1x1x16xf32, strided<[96, 96, 16, 1], offset: ?>, #npu.sram>) axis 3
  } {npu.consumes}
  "test.op"(%y) : (memref<1x1x6x16xf32, #npu.sram>) -> ()
  func.return
}
