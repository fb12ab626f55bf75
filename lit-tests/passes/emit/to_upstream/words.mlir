// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// tests/passes/emit/upstream/test_words.py compares the bits; here is what the ops look like.

// CHECK-LABEL: func.func @load(
// CHECK:         [[B0:%.*]] = memref.load %bytes[%i] : memref<8xi8>
// CHECK-NEXT:    [[W0:%.*]] = arith.extui [[B0]] : i8 to i32
// CHECK:         [[I1:%.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:    [[B1:%.*]] = memref.load %bytes[[[I1]]] : memref<8xi8>
// CHECK-NEXT:    [[X1:%.*]] = arith.extui [[B1]] : i8 to i32
// CHECK-NEXT:    [[W1:%.*]] = arith.shli [[X1]], %cst
// CHECK-NEXT:    arith.ori [[W0]], [[W1]] : i32
// CHECK:         memref.load %halves[%i] : memref<4xi16>
// CHECK-NOT:     dsp
func.func @load(%bytes: memref<8xi8, #npu.sram>, %halves: memref<4xi16, #npu.sram>, %i: index) -> (i32, i32) {
  %a = dsp.load_word %bytes[%i] : memref<8xi8, #npu.sram> -> i32
  dsp.keep_order
  %b = dsp.load_word %halves[%i] : memref<4xi16, #npu.sram> -> i32
  func.return %a, %b : i32, i32
}

// CHECK-LABEL: func.func @store(
// CHECK:         [[LOW:%.*]] = arith.trunci %w : i32 to i16
// CHECK-NEXT:    memref.store [[LOW]], %halves[%i] : memref<4xi16>
// CHECK-NEXT:    [[UP:%.*]] = arith.shrui %w, %cst : i32
// CHECK-NEXT:    [[HIGH:%.*]] = arith.trunci [[UP]] : i32 to i16
// CHECK-NEXT:    [[NEXT:%.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:    memref.store [[HIGH]], %halves[[[NEXT]]] : memref<4xi16>
func.func @store(%w: i32, %halves: memref<4xi16, #npu.sram>, %i: index) {
  dsp.store_word %w, %halves[%i] : i32, memref<4xi16, #npu.sram>
  func.return
}

// Halves that were taken out of a word serve again, but not in another block.
// CHECK-LABEL: func.func @products(
// CHECK:         [[A:%.*]] = arith.trunci %x : i32 to i16
// CHECK-COUNT-1: arith.trunci %y : i32 to i16
// CHECK-COUNT-4: arith.muli
// CHECK:         scf.for
// CHECK:           arith.trunci %x : i32 to i16
// CHECK-COUNT-2:   arith.muli
func.func @products(%x: i32, %y: i32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %a = dsp.smlad %x, %y, %z : i32
  %b = dsp.smlad %x, %y, %a in_place : i32
  %c = scf.for %i = %c0 to %n step %c1 iter_args(%s = %b) -> (i32) {
    %d = dsp.smlad %x, %y, %s : i32
    scf.yield %d : i32
  }
  func.return %c : i32
}

// CHECK-LABEL: func.func @other(
// CHECK-NOT:     dsp
// CHECK:         arith.fptosi
// CHECK:         arith.minsi
// CHECK:         arith.maxsi
func.func @other(%x: i32, %y: i32, %f: f32) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32) {
  %a = dsp.sxtb16 %x rotate 8 : i32
  %b = dsp.uxtb16 %x rotate 8 : i32
  %c = dsp.sxtab16 %y, %x rotate 0 : i32
  %d = dsp.uxtab16 %y, %x rotate 8 : i32
  %e = dsp.smla %x, %y, %a halves tb : i32
  %p = dsp.pack %x, %y halves tb : i32
  %q = dsp.round %f : f32 -> i32
  %r = dsp.ssat %x to 8 : i32
  %s = dsp.usat %x to 8 : i32
  func.return %a, %b, %c, %d, %e, %p, %q, %r, %s : i32, i32, i32, i32, i32, i32, i32, i32, i32
}

// Floats are stored one by one.
// CHECK-LABEL: func.func @floats(
// CHECK:         memref.store %a, %row[%i]
// CHECK:         memref.store %b, %row[
// CHECK-NOT:     dsp
func.func @floats(%row: memref<8xf32, #npu.sram>, %i: index, %a: f32, %b: f32) {
  dsp.store_floats %a, %b from 4 to %row[%i] : f32, f32 to memref<8xf32, #npu.sram>
  func.return
}

// All elements are loaded before the first is stored.
// CHECK-LABEL: func.func @copy(
// CHECK-COUNT-4: memref.load %halves
// CHECK-COUNT-4: memref.store {{.*}}, %halves
// CHECK-NOT:     dsp
func.func @copy(%halves: memref<8xi16, #npu.sram>, %i: index, %j: index) {
  dsp.copy_words 2 from %halves[%i] to %halves[%j] : memref<8xi16, #npu.sram>, memref<8xi16, #npu.sram>
  func.return
}

// A buffer that is opaque to C compilers is read as it is.
// CHECK-LABEL: func.func @opaque(
// CHECK:         memref.load %hidden[%i] : memref<8xi8>
// CHECK-NOT:     dsp
func.func @opaque(%bytes: memref<8xi8, #npu.sram>, %i: index) -> i8 {
  %hidden = dsp.opaque %bytes : memref<8xi8, #npu.sram>
  %a = memref.load %hidden[%i] : memref<8xi8, #npu.sram>
  func.return %a : i8
}
