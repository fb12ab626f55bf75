// RUN: npu-opt %s -p npu-split-stream | filecheck %s

// A row in the ring, and one behind it: step 5 has no row of the input any more.
// CHECK-LABEL: func.func @net_begin() attributes {sram.arena = 64 : i64, npu.stream_part = "begin"} {
// CHECK: %[[COUNT:.*]] = sram.alloc at 60 {npu.stream_count}
// CHECK: memref.store %{{.*}}, %[[COUNT]]
// CHECK-NOT: scf.for
// CHECK-NOT: func.call
// CHECK: func.return

// CHECK-LABEL: func.func @net_push_rows(%x: memref<1x1x4x2xf32> {npu.name = "image", npu.stream}, %n: i32) -> i32
// CHECK-SAME: npu.stream_part = "push_rows"
// CHECK: %[[COUNT:.*]] = sram.alloc at 60
// CHECK-DAG: %[[OUT:.*]] = sram.alloc at 16 : memref<1x1x4x2xf32, #npu.sram>
// CHECK-DAG: %[[RING:.*]] = sram.alloc at 0 : memref<1x1x1x2xf32, #npu.sram>
// CHECK: %[[DONE:.*]] = memref.load %[[COUNT]]
// CHECK: %[[ROOM:.*]] = arith.subi %{{.*}}, %[[DONE]] : i32
// CHECK: %[[SOME:.*]] = arith.cmpi sge, %n
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %n, %[[ROOM]]
// CHECK: %[[OK:.*]] = arith.andi %[[SOME]], %[[FITS]]
// CHECK: %[[STATUS:.*]] = scf.if %[[OK]] -> (i32) {
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[DONE]]
// CHECK: scf.for %t = %[[FIRST]] to %stop
// CHECK: scf.if
// CHECK: %[[GIVEN:.*]] = arith.subi %t, %[[FIRST]]
// CHECK-NEXT: %[[ROW:.*]] = memref.subview %x[0, 0, %[[GIVEN]], 0]
// CHECK-NEXT: func.call @layer(%[[ROW]], %[[RING]])
// CHECK: func.call @layer2(%[[RING]], %{{.*}})
// CHECK: %[[ALL:.*]] = arith.addi %[[DONE]], %n
// CHECK-NEXT: memref.store %[[ALL]], %[[COUNT]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[THREE:.*]] : i32
// CHECK: func.return %[[STATUS]] : i32

// CHECK-LABEL: func.func @net_finish(%y: memref<1x1x4x2xf32, #npu.sram> {sram.output, sram.offset = 16 : i64}) -> i32
// CHECK-SAME: npu.stream_part = "finish"
// CHECK: %[[WHOLE:.*]] = arith.cmpi eq
// CHECK: scf.if %[[WHOLE]] -> (i32) {
// CHECK: scf.for %t = %c4{{.*}} to %c5
// CHECK-NOT: memref.subview %x
// CHECK: func.call @fill
// CHECK: func.call @layer2
// CHECK: func.call @fill(%y)
// CHECK: memref.store
// CHECK-LABEL: func.func private @layer
func.func @net(%x : memref<1x1x4x2xf32> {npu.name = "image", npu.stream}, %y : memref<1x1x4x2xf32, #npu.sram> {sram.output, sram.offset = 16 : i64}) attributes {sram.arena = 64 : i64} {
  %zero = arith.constant 0 : i32
  %five = arith.constant 5 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  memref.store %zero, %count[%c0] : memref<1xi32, #npu.sram>
  %ring = sram.alloc at 0 : memref<1x1x1x2xf32, #npu.sram>
  scf.for %t = %c0 to %c5 step %c1 {
    %here = arith.cmpi ult, %t, %c4 : index
    scf.if %here {
      %row = memref.subview %x[0, 0, %t, 0] [1, 1, 1, 2] [1, 1, 1, 1] : memref<1x1x4x2xf32> to memref<1x1x1x2xf32, strided<[8, 8, 2, 1], offset: ?>>
      func.call @layer(%row, %ring) : (memref<1x1x1x2xf32, strided<[8, 8, 2, 1], offset: ?>>, memref<1x1x1x2xf32, #npu.sram>) -> ()
    } else {
      func.call @fill(%y) : (memref<1x1x4x2xf32, #npu.sram>) -> ()
    }
    %cast = memref.reinterpret_cast %y to offset: [0], sizes: [1, 1, 1, 2], strides: [2, 2, 2, 1] : memref<1x1x4x2xf32, #npu.sram> to memref<1x1x1x2xf32, #npu.sram>
    func.call @layer2(%ring, %cast) : (memref<1x1x1x2xf32, #npu.sram>, memref<1x1x1x2xf32, #npu.sram>) -> ()
  } {npu.stream_steps = array<i64: 4, 0>}
  func.call @fill(%y) : (memref<1x1x4x2xf32, #npu.sram>) -> ()
  memref.store %five, %count[%c0] : memref<1xi32, #npu.sram>
  func.return
}
func.func private @layer(%ifm : memref<1x1x1x2xf32, strided<[8, 8, 2, 1], offset: ?>>, %ofm : memref<1x1x1x2xf32, #npu.sram>) {
  func.return
}
func.func private @layer2(%ifm : memref<1x1x1x2xf32, #npu.sram>, %ofm : memref<1x1x1x2xf32, #npu.sram>) {
  func.return
}
func.func private @fill(%ofm : memref<1x1x4x2xf32, #npu.sram>) {
  func.return
}

// Of a step before the first row, nothing reads the input.
// CHECK-LABEL: func.func @early_begin
// CHECK: scf.for %t = %c0{{.*}} to %c1
// CHECK-NOT: memref.subview
// CHECK: func.return
// CHECK-LABEL: func.func @early_push_rows
// CHECK: %[[START:.*]] = arith.addi %first, %c1
// CHECK: scf.for %t = %[[START]] to
// CHECK-LABEL: func.func @early_finish
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @early(%x : memref<1x1x4x2xf32> {npu.stream}) attributes {sram.arena = 64 : i64} {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %count = sram.alloc at 60 {npu.stream_count} : memref<1xi32, #npu.sram>
  memref.store %zero, %count[%c0] : memref<1xi32, #npu.sram>
  %ring = sram.alloc at 0 : memref<1x1x1x2xf32, #npu.sram>
  scf.for %t = %c0 to %c5 step %c1 {
    %since = arith.subi %t, %c1 : index
    %here = arith.cmpi sge, %since, %c0 : index
    scf.if %here {
      %row = memref.subview %x[0, 0, %since, 0] [1, 1, 1, 2] [1, 1, 1, 1] : memref<1x1x4x2xf32> to memref<1x1x1x2xf32, strided<[8, 8, 2, 1], offset: ?>>
      func.call @layer(%row, %ring) : (memref<1x1x1x2xf32, strided<[8, 8, 2, 1], offset: ?>>, memref<1x1x1x2xf32, #npu.sram>) -> ()
    }
  } {npu.stream_steps = array<i64: 4, 1>}
  func.return
}
