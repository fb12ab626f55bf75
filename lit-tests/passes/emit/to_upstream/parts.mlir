// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// A program whose input arrives in rows has three functions. All get the arena, in which the rows are
// kept between calls; the rows stay in the caller's memory.

// CHECK-LABEL: func.func @net_begin(%arena: memref<48xi8>) {
// CHECK:         %count = memref.view %arena[%c32][] : memref<48xi8> to memref<1xi32>
func.func @net_begin() attributes {npu.stream_part = "begin", sram.arena = 48 : i64} {
  %count = sram.alloc at 32 {npu.stream_count} : memref<1xi32, #npu.sram>
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i32
  memref.store %none, %count[%c0] : memref<1xi32, #npu.sram>
  func.return
}

// CHECK-LABEL: func.func @net_push_rows(%x: memref<8x4xi8>, %n: i32, %arena: memref<48xi8>) -> i32 {
// CHECK:         %row = memref.subview %x[0, 0]
// CHECK:         func.return %n : i32
func.func @net_push_rows(%x: memref<8x4xi8> {npu.stream}, %n: i32) -> i32
    attributes {npu.stream_part = "push_rows", sram.arena = 48 : i64} {
  %ring = sram.alloc at 0 : memref<4xi8, #npu.sram>
  %row = memref.subview %x[0, 0] [1, 4] [1, 1] : memref<8x4xi8> to memref<4xi8, strided<[1], offset: ?>>
  func.return %n : i32
}

// CHECK-LABEL: func.func @net_finish(%y: memref<4xi8>, %arena: memref<48xi8>) -> i32 {
// CHECK:         scf.if %elsewhere {
// CHECK-NEXT:      "memref.copy"(%y_map, %y)
// CHECK:         func.return
func.func @net_finish(%y: memref<4xi8, #npu.sram> {sram.output, sram.offset = 16 : i64}) -> i32
    attributes {npu.stream_part = "finish", sram.arena = 48 : i64} {
  %status = arith.constant 3 : i32
  func.return %status : i32
}
