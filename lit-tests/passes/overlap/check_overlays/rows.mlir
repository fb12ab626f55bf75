// RUN: npu-opt %s -p npu-check-overlays --split-input-file --verify-diagnostics | filecheck %s

// Row r is read and written in one call, which may write first: rows may follow 16 bytes apart.
// CHECK-LABEL: func.func @apart
func.func @apart() {
  %x = sram.alloc at 16 : memref<1x1x4x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x4x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    func.call @layer(%line, %row) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
  } {npu.overlays = array<i64: 0, 1, 16, -1>}
  func.return
}
func.func private @layer(%ifm : memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, %ofm : memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %ifm[%c0, %c0, %c0, %i] : memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    memref.store %v, %ofm[%c0, %c0, %c0, %i] : memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
  }
  func.return
}

// -----

// One byte less.
func.func @close() {
  %x = sram.alloc at 15 : memref<1x1x4x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x4x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    "memref.copy"(%line, %row) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
  } {npu.overlays = array<i64: 0, 1, 16, -1>}
  func.return
}
// CHECK: expected buffer 0 farther than 15 bytes behind buffer 1: its bytes are used after they are overwritten

// -----

// A claim names one pair, but all buffers that share memory are checked: rows 1 to 3 of %x are
// overwritten by the first row of %z before they are read.
func.func @another() {
  %x = sram.alloc at 16 : memref<1x1x4x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x4x16xi8, #npu.sram>
  %z = sram.alloc at 64 : memref<1x1x1x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %all = memref.subview %z[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x1x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[16, 16, 16, 1]>, #npu.sram>
    "memref.copy"(%line, %all) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[16, 16, 16, 1]>, #npu.sram>) -> ()
    "memref.copy"(%all, %row) : (memref<1x1x1x16xi8, strided<[16, 16, 16, 1]>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
  } {npu.overlays = array<i64: 0, 1, 0, -1>}
  func.return
}
// CHECK: expected buffer 0 farther than -48 bytes behind buffer 2: its bytes are used after they are overwritten

// -----

// The place of a row must be known.
func.func @unknown(%k : index) {
  %x = sram.alloc at 16 : memref<1x1x4x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x4x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %line = memref.subview %x[0, 0, %k, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    "memref.copy"(%line, %row) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
  } {npu.overlays = array<i64: 0, 1, 16, -1>}
  func.return
}
// CHECK: expected indices of rows that are known: its buffers share memory

// -----

// The last step takes the other side of the branch, which reads row 0 of %x again.
func.func @other_side() {
  %x = sram.alloc at 16 : memref<1x1x4x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x4x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %first = arith.cmpi slt, %r, %c3 : index
    scf.if %first {
      %line = memref.subview %x[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
      "memref.copy"(%line, %row) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
    } else {
      %line = memref.subview %x[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1]>, #npu.sram>
      "memref.copy"(%line, %row) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1]>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
    }
  } {npu.overlays = array<i64: 1, 0, 16, -1>}
  func.return
}
// CHECK: expected buffer 1 farther than 16 bytes behind buffer 0: its bytes are used after they are overwritten

// -----

// A ring is used in the first two steps, and what is written then may lie over it: both are used nowhere else.
// CHECK-LABEL: func.func @ring
func.func @ring(%x : memref<1x1x1x16xi8>) {
  %ring = sram.alloc at 0 : memref<1x1x2x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x1x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %t = %c0 to %c3 step %c1 {
    %early = arith.cmpi slt, %t, %c2 : index
    scf.if %early {
      %row = memref.subview %ring[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x2x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[32, 32, 16, 1]>, #npu.sram>
      "memref.copy"(%x, %row) : (memref<1x1x1x16xi8>, memref<1x1x1x16xi8, strided<[32, 32, 16, 1]>, #npu.sram>) -> ()
    } else {
      "memref.copy"(%x, %y) : (memref<1x1x1x16xi8>, memref<1x1x1x16xi8, #npu.sram>) -> ()
    }
  } {npu.overlays = array<i64: 0, 1, 0, -1>}
  func.return
}

// -----

// The ring is used behind the loop.
func.func @used_behind(%x : memref<1x1x1x16xi8>) {
  %ring = sram.alloc at 0 : memref<1x1x2x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x1x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %t = %c0 to %c3 step %c1 {
    %early = arith.cmpi slt, %t, %c2 : index
    scf.if %early {
      %row = memref.subview %ring[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x2x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[32, 32, 16, 1]>, #npu.sram>
      "memref.copy"(%x, %row) : (memref<1x1x1x16xi8>, memref<1x1x1x16xi8, strided<[32, 32, 16, 1]>, #npu.sram>) -> ()
    } else {
      "memref.copy"(%x, %y) : (memref<1x1x1x16xi8>, memref<1x1x1x16xi8, #npu.sram>) -> ()
    }
  } {npu.overlays = array<i64: 0, 1, 0, -1>}
  %v = memref.load %ring[%c0, %c0, %c0, %c0] : memref<1x1x2x16xi8, #npu.sram>
  func.return
}
// CHECK: expected buffer 1 farther than 0 bytes behind buffer 0: its bytes are used after they are overwritten

// -----

// The loop uses the last rows of %y only, which lie behind %x.
// CHECK-LABEL: func.func @slice
func.func @slice() {
  %x = sram.alloc at 0 : memref<1x1x4x16xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<1x1x8x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rest = memref.subview %y[0, 0, 4, 0] [1, 1, 4, 16] [1, 1, 1, 1] : memref<1x1x8x16xi8, #npu.sram> to memref<1x1x4x16xi8, strided<[128, 128, 16, 1], offset: 64>, #npu.sram>
  "test.op"(%rest) : (memref<1x1x4x16xi8, strided<[128, 128, 16, 1], offset: 64>, #npu.sram>) -> ()
  scf.for %r = %c0 to %c4 step %c1 {
    %line = memref.subview %x[0, 0, %c0, 0] [1, 1, 4, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x4x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %last = arith.addi %r, %c4 : index
    %row = memref.subview %y[0, 0, %last, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x8x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[128, 128, 16, 1], offset: ?>, #npu.sram>
    "test.op"(%line) : (memref<1x1x4x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
    "test.op"(%row) : (memref<1x1x1x16xi8, strided<[128, 128, 16, 1], offset: ?>, #npu.sram>) -> ()
  } {npu.overlays = array<i64: 0, 1, 0, -1>}
  "test.op"(%x, %rest) : (memref<1x1x4x16xi8, #npu.sram>, memref<1x1x4x16xi8, strided<[128, 128, 16, 1], offset: 64>, #npu.sram>) -> ()
  func.return
}
