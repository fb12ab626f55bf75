// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' --allow-unregistered-dialect | filecheck %s

// %x dies row by row while %y takes its place.

// CHECK-LABEL: func.func @dies
// CHECK-SAME: attributes {sram.arena = 96 : i64}
func.func @dies() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  func.return
}

// What is read behind the loop does not die in it.

// CHECK-LABEL: func.func @read_behind
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @read_behind() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  "test.op"(%y, %x) : (memref<1x2x3x4xf32, #npu.sram>, memref<1x2x3x4xf32, #npu.sram>) -> ()
  func.return
}

// Nor does what the next iteration of a loop around it reads.

// CHECK-LABEL: func.func @read_again
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @read_again() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    "test.op"(%x) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
    scf.for %r = %c0 to %c3 step %c1 {
      %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
      memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    } {npu.consumes}
    "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  }
  func.return
}

// Nor does what a loop without the attribute reads, or what it writes too.

// CHECK-LABEL: func.func @other_loops
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @other_loops() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  }
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func @written_too
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @written_too() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %x[%c0, %c0, %c0, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  func.return
}

// A target lies on what is copied into it if the source dies there, and the copy is its first use.

// CHECK-LABEL: func.func @copied
// CHECK-SAME: attributes {sram.arena = 16 : i64}
func.func @copied() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "memref.copy"(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func @copied_and_read
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @copied_and_read() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "memref.copy"(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  "test.op"(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func @written_before
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @written_before() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %b = sram.alloc : memref<4xf32, #npu.sram>
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
  "memref.copy"(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// A loop that writes the target before the copy is a use too.

// CHECK-LABEL: func.func @copied_nested
// CHECK-SAME: attributes {sram.arena = 32 : i64}
func.func @copied_nested(%v: f32) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %b = sram.alloc : memref<4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %b[%c0] : memref<4xf32, #npu.sram>
  }
  "memref.copy"(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  "test.op"(%b) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// Nor may a target lie on its source if it is used in front of the loop.

// CHECK-LABEL: func.func @target_used_before
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @target_used_before() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  "test.op"(%x) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  func.return
}

// Nor does a buffer die whose address escapes, or that the caller reads.

// CHECK-LABEL: func.func @escapes
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @escapes() {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %address = "memref.extract_aligned_pointer_as_index"(%x) : (memref<1x2x3x4xf32, #npu.sram>) -> index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  "test.op"(%address) : (index) -> ()
  func.return
}

// CHECK-LABEL: func.func @output
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @output(%x: memref<1x2x3x4xf32, #npu.sram> {sram.output}) {
  %y = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  "test.op"(%y) : (memref<1x2x3x4xf32, #npu.sram>) -> ()
  func.return
}

// An output that is in use in front of the loop is used as a whole.

// CHECK-LABEL: func.func @into_an_output
// CHECK-SAME: attributes {sram.arena = 192 : i64}
func.func @into_an_output(%y: memref<1x2x3x4xf32, #npu.sram> {sram.output}) {
  %x = sram.alloc : memref<1x2x3x4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  "test.op"(%x, %y) : (memref<1x2x3x4xf32, #npu.sram>, memref<1x2x3x4xf32, #npu.sram>) -> ()
  scf.for %r = %c0 to %c3 step %c1 {
    %a = memref.load %x[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
    memref.store %a, %y[%c0, %c0, %r, %c0] : memref<1x2x3x4xf32, #npu.sram>
  } {npu.consumes}
  func.return
}
