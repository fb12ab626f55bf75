// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' --allow-unregistered-dialect | filecheck %s

// A buffer lives on in its views and casts: %b must not take its place, %c may.

// CHECK-LABEL: func.func @views() attributes {sram.arena = 32 : i64}
// CHECK: %a = sram.alloc at [[A:[0-9]+]] :
// CHECK: %b = sram.alloc at {{[0-9]+}} :
// CHECK: %c = sram.alloc at [[A]] :
func.func @views() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %sub = memref.subview %a[0] [2] [1] : memref<4xf32, #npu.sram> to memref<2xf32, strided<[1]>, #npu.sram>
  %cast = "memref.cast"(%sub) : (memref<2xf32, strided<[1]>, #npu.sram>) -> memref<?xf32, strided<[1]>, #npu.sram>
  %pointer = builtin.unrealized_conversion_cast %cast : memref<?xf32, strided<[1]>, #npu.sram> to !other.pointer
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  "test.op"(%pointer) : (!other.pointer) -> ()
  %c = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b, %c) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}

// A transfer holds its buffers until it is waited for.

// CHECK-LABEL: func.func @transfer
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @transfer(%far: memref<4xf32>) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %token = "other.start"(%far, %a) : (memref<4xf32>, memref<4xf32, #npu.sram>) -> !other.token
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  "other.wait"(%token) : (!other.token) -> ()
  func.return
}

// A transfer of memref.dma_start is in flight until its tag is waited for: it holds both ends, and
// the tag.

// CHECK-LABEL: func.func @tag
// CHECK-SAME: attributes {sram.arena = 36 : i64}
func.func @tag(%far: memref<4xf32>) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %tag = sram.alloc : memref<1xi32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  "memref.dma_start"(%far, %c0, %a, %c0, %c4, %tag, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<4xf32>, index, memref<4xf32, #npu.sram>, index, index, memref<1xi32, #npu.sram>, index) -> ()
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  "memref.dma_wait"(%tag, %c0, %c4) : (memref<1xi32, #npu.sram>, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @waited
// CHECK-SAME: attributes {sram.arena = 20 : i64}
func.func @waited(%far: memref<4xf32>) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %tag = sram.alloc : memref<1xi32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  "memref.dma_start"(%far, %c0, %a, %c0, %c4, %tag, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<4xf32>, index, memref<4xf32, #npu.sram>, index, index, memref<1xi32, #npu.sram>, index) -> ()
  "memref.dma_wait"(%tag, %c0, %c4) : (memref<1xi32, #npu.sram>, index, index) -> ()
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// A buffer from outside lives over the whole loop; those made inside share a place if they can.

// CHECK-LABEL: func.func @loop
// CHECK-SAME: attributes {sram.arena = 32 : i64}
// CHECK: %a = sram.alloc at [[A:[0-9]+]] :
// CHECK: %b = sram.alloc at [[B:[0-9]+]] :
// CHECK: %c = sram.alloc at [[B]] :
// CHECK: %d = sram.alloc at
func.func @loop(%low: index, %high: index, %step: index) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  scf.for %i = %low to %high step %step {
    "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
    %b = sram.alloc : memref<4xf32, #npu.sram>
    "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
    %c = sram.alloc : memref<4xf32, #npu.sram>
    "test.op"(%c) : (memref<4xf32, #npu.sram>) -> ()
  }
  %d = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%d) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// Two buffers that swap in a loop; one that leaves a branch.

// CHECK-LABEL: func.func @carried
// CHECK-SAME: attributes {sram.arena = 48 : i64}
func.func @carried(%low: index, %high: index, %step: index) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %b = sram.alloc : memref<4xf32, #npu.sram>
  %r:2 = scf.for %i = %low to %high step %step iter_args(%x = %a, %y = %b) -> (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) {
    scf.yield %y, %x : memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>
  }
  %c = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%c) : (memref<4xf32, #npu.sram>) -> ()
  "test.op"(%r#1) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func @branch
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @branch(%cond: i1, %other: memref<4xf32, #npu.sram>) {
  %r = scf.if %cond -> (memref<4xf32, #npu.sram>) {
    %a = sram.alloc : memref<4xf32, #npu.sram>
    scf.yield %a : memref<4xf32, #npu.sram>
  } else {
    scf.yield %other : memref<4xf32, #npu.sram>
  }
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  "test.op"(%r) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// With branches between blocks, or an address that escapes, nothing is known.

// CHECK-LABEL: func.func @blocks
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @blocks() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
  cf.br ^next
^next:
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func @address
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @address() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %address = "memref.extract_aligned_pointer_as_index"(%a) : (memref<4xf32, #npu.sram>) -> index
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  "test.op"(%address) : (index) -> ()
  func.return
}

// Inputs are there from the start, outputs until the end, used or not.

// CHECK-LABEL: func.func @arguments
// CHECK-SAME: attributes {sram.arena = 48 : i64}
func.func @arguments(%in: memref<4xf32, #npu.sram> {sram.input}, %unused: memref<4xf32, #npu.sram> {sram.input}, %out: memref<4xf32, #npu.sram> {sram.output}, %unmarked: memref<4xf32, #npu.sram>) {
  "test.op"(%out) : (memref<4xf32, #npu.sram>) -> ()
  %a = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%in, %a, %unmarked) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}

// A view alone uses no byte: what dies before a slice of %y is written may lie in all of %y.
// CHECK-LABEL: func.func @before_the_first_slice
// CHECK-SAME: sram.arena = 128
func.func @before_the_first_slice(%x: memref<64xi8>) {
  %y = sram.alloc : memref<128xi8, #npu.sram>
  %half = memref.subview %y[0] [64] [1] : memref<128xi8, #npu.sram> to memref<64xi8, strided<[1]>, #npu.sram>
  %t = sram.alloc : memref<128xi8, #npu.sram>
  "test.op"(%t) : (memref<128xi8, #npu.sram>) -> ()
  npu.relu ins(%x : memref<64xi8>) outs(%half : memref<64xi8, strided<[1]>, #npu.sram>)
  "test.op"(%y) : (memref<128xi8, #npu.sram>) -> ()
  func.return
}
