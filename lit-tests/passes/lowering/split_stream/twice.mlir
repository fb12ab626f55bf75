// RUN: npu-opt %s -p npu-split-stream | filecheck %s

// A layer that reads the newest row twice: both views go from the step in which no row arrives.
// CHECK-LABEL: func.func @net_push_rows(%x: memref<1x1x2x2xf32> {npu.stream}, %n: i32) -> i32
// CHECK: %[[FIRST:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[A:.*]] = arith.subi %t, %[[FIRST]]
// CHECK-NEXT: %[[ROW:.*]] = memref.subview %x[0, 0, %[[A]], 0]
// CHECK-NEXT: %[[B:.*]] = arith.subi %t, %[[FIRST]]
// CHECK-NEXT: %[[AGAIN:.*]] = memref.subview %x[0, 0, %[[B]], 0]
// CHECK-NEXT: func.call @add(%[[ROW]], %[[AGAIN]], %{{.*}})
// CHECK-LABEL: func.func @net_finish
// CHECK: scf.for %t = %c2{{.*}} to %c3
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: func.call @fill
// CHECK-NEXT: }
// CHECK-LABEL: func.func private @add
func.func @net(%x : memref<1x1x2x2xf32> {npu.stream}, %y : memref<1x1x1x2xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 16 : i64} {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %count = sram.alloc at 8 {npu.stream_count} : memref<1xi32, #npu.sram>
  memref.store %zero, %count[%c0] : memref<1xi32, #npu.sram>
  scf.for %t = %c0 to %c3 step %c1 {
    %here = arith.cmpi ult, %t, %c2 : index
    scf.if %here {
      %row = memref.subview %x[0, 0, %t, 0] [1, 1, 1, 2] [1, 1, 1, 1] : memref<1x1x2x2xf32> to memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>>
      %again = memref.subview %x[0, 0, %t, 0] [1, 1, 1, 2] [1, 1, 1, 1] : memref<1x1x2x2xf32> to memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>>
      func.call @add(%row, %again, %y) : (memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>>, memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>>, memref<1x1x1x2xf32, #npu.sram>) -> ()
    } else {
      func.call @fill(%y) : (memref<1x1x1x2xf32, #npu.sram>) -> ()
    }
  } {npu.stream_steps = array<i64: 2, 0>}
  func.return
}
func.func private @add(%lhs : memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>>, %rhs : memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>>, %ofm : memref<1x1x1x2xf32, #npu.sram>) {
  func.return
}
func.func private @fill(%ofm : memref<1x1x1x2xf32, #npu.sram>) {
  func.return
}
