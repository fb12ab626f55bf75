// RUN: npu-opt %s -p npu-split-stream --verify-diagnostics --split-input-file | filecheck %s

func.func @no_count(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %t = %c0 to %c4 step %c1 {
  } {npu.stream_steps = array<i64: 4, 0>}
  func.return
}
// CHECK-LABEL: npu-split-stream: expected one input with npu.stream and one buffer with npu.stream_count

// -----

func.func @inner(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %s = %c0 to %c4 step %c1 {
    scf.for %t = %c0 to %c4 step %c1 {
    } {npu.stream_steps = array<i64: 4, 0>}
  }
  func.return
}
// CHECK: npu-split-stream: expected a loop in the block of its function

// -----

func.func @numbers(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  scf.for %t = %c0 to %c4 step %c1 {
  } {npu.stream_steps = array<i64: 4, 1>}
  func.return
}
// CHECK: npu-split-stream: expected npu.stream_steps = array<i64: rows, delay>, and as many steps

// -----

// What a load gives before the loop is not there when the rows come.
func.func @lives_on(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  %other = sram.alloc at 0 : memref<1xf32, #npu.sram>
  %v = memref.load %other[%c0] : memref<1xf32, #npu.sram>
  scf.for %t = %c0 to %c4 step %c1 {
    memref.store %v, %other[%c0] : memref<1xf32, #npu.sram>
  } {npu.stream_steps = array<i64: 4, 0>}
  func.return
}
// CHECK: npu-split-stream: expected no value that lives from one call to the next, got memref.load

// -----

func.func @no_branch(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  scf.for %t = %c0 to %c5 step %c1 {
    %row = memref.subview %x[0, 0, %t, 0] [1, 1, 1, 2] [1, 1, 1, 1] : memref<1x1x4x2xf32> to memref<1x1x1x2xf32, strided<[8, 8, 2, 1], offset: ?>>
  } {npu.stream_steps = array<i64: 4, 0>}
  func.return
}
// CHECK: npu-split-stream: expected a branch for the steps in which no row arrives

// -----

func.func @element(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  scf.for %t = %c0 to %c4 step %c1 {
    %v = memref.load %x[%c0, %c0, %t, %c0] : memref<1x1x4x2xf32>
  } {npu.stream_steps = array<i64: 4, 0>}
  func.return
}
// CHECK: npu-split-stream: expected a view of one row of the streamed input, got memref.load

// -----

func.func @column(%x : memref<1x1x4x2xf32> {npu.stream}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  scf.for %t = %c0 to %c4 step %c1 {
    %v = memref.subview %x[0, 0, 0, %t] [1, 1, 4, 1] [1, 1, 1, 1] : memref<1x1x4x2xf32> to memref<1x1x4x1xf32, strided<[8, 8, 2, 1], offset: ?>>
  } {npu.stream_steps = array<i64: 4, 0>}
  func.return
}
// CHECK: npu-split-stream: expected a view of one row of the streamed input, of all its columns

// -----

func.func @no_offset(%x : memref<1x1x4x2xf32> {npu.stream}, %y : memref<1xf32, #npu.sram> {sram.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  scf.for %t = %c0 to %c4 step %c1 {
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  } {npu.stream_steps = array<i64: 4, 0>}
  func.return
}
// CHECK: npu-split-stream: expected outputs with sram.offset, and no other argument
