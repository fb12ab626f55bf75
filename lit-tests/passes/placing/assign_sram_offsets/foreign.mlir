// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' --allow-unregistered-dialect | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{space="\"L1\""})' --allow-unregistered-dialect | filecheck %s --check-prefix L1
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{space="1 : i32"})' --allow-unregistered-dialect | filecheck %s --check-prefix ONE

// Allocations of any dialect, each with the alignment that it asks for, in any memory space.

// CHECK-LABEL: func.func @memref_alloc() attributes {sram.arena = 80 : i64}
// CHECK: %a = memref.alloc() {sram.offset = 36 : i64} : memref<3xi8, #npu.sram>
// CHECK: %b = memref.alloc() {alignment = 64 : i64, sram.offset = 0 : i64} : memref<4xf32, #npu.sram>
// CHECK: %c = memref.alloca() {sram.offset = 16 : i64} : memref<2xf32, strided<[3], offset: 1>, #npu.sram>
// CHECK: %d = memref.alloc() {alignment = 64 : i64, sram.offset = 64 : i64} : memref<4xf32, #npu.sram>
// CHECK: %e = memref.alloc() : memref<8xf32>
func.func @memref_alloc() {
  %a = memref.alloc() : memref<3xi8, #npu.sram>
  %b = memref.alloc() {alignment = 64 : i64} : memref<4xf32, #npu.sram>
  %c = memref.alloca() : memref<2xf32, strided<[3], offset: 1>, #npu.sram>
  %d = memref.alloc() {alignment = 64 : i64} : memref<4xf32, #npu.sram>
  %e = memref.alloc() : memref<8xf32>
  "test.op"(%a, %b, %c, %d, %e) : (memref<3xi8, #npu.sram>, memref<4xf32, #npu.sram>, memref<2xf32, strided<[3], offset: 1>, #npu.sram>, memref<4xf32, #npu.sram>, memref<8xf32>) -> ()
  func.return
}

// L1-LABEL: func.func @other_spaces() attributes {sram.arena = 16 : i64}
// L1: memref.alloc() {sram.offset = 0 : i64} : memref<4xf32, "L1">
// L1: memref.alloc() : memref<8xf32, 1 : i32>
// ONE-LABEL: func.func @other_spaces() attributes {sram.arena = 32 : i64}
// ONE: memref.alloc() : memref<4xf32, "L1">
// ONE: memref.alloc() {sram.offset = 0 : i64} : memref<8xf32, 1 : i32>
func.func @other_spaces() {
  %a = memref.alloc() : memref<4xf32, "L1">
  %b = memref.alloc() : memref<8xf32, 1 : i32>
  func.return
}
