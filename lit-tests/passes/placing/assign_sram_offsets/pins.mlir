// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=none})' | filecheck %s --check-prefix NONE

// Offsets that are there already stay; the others lie around them, before the first one too.

// CHECK-LABEL: func.func @pins
// CHECK-SAME: sram.offset = 32 : i64}) attributes {sram.arena = 80 : i64}
// CHECK: %a = sram.alloc at 64 :
// CHECK: %b = sram.alloc at 0 :
// CHECK: %c = memref.alloc() {sram.offset = 48 : i64} :
// NONE-LABEL: func.func @pins
// NONE-SAME: sram.offset = 32 : i64}) attributes {sram.arena = 80 : i64}
// NONE: %a = sram.alloc at 64 :
// NONE: %b = sram.alloc at 0 :
// NONE: %c = memref.alloc() {sram.offset = 48 : i64} :
func.func @pins(%in: memref<4xf32, #npu.sram> {sram.input, sram.offset = 32 : i64}) {
  %a = sram.alloc at 64 : memref<4xf32, #npu.sram>
  %b = sram.alloc : memref<8xf32, #npu.sram>
  %c = memref.alloc() {sram.offset = 48 : i64} : memref<4xf32, #npu.sram>
  "test.op"(%in, %a, %b, %c) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>, memref<8xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
