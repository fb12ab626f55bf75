// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=exact})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=exact budget=0})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=exact budget=-1})' --verify-diagnostics | filecheck %s --check-prefix NEGATIVE

// Where the plan of `greedy` is as small as the live set, `exact` keeps it; pins stay.

// CHECK-LABEL: func.func @pins
// CHECK-SAME: sram.offset = 32 : i64}) attributes {sram.arena = 80 : i64}
// CHECK: %a = sram.alloc at 64 :
// CHECK: %b = sram.alloc at 0 :
// CHECK: %c = memref.alloc() {sram.offset = 48 : i64} :
// NEGATIVE-LABEL: npu-assign-sram-offsets: expected a budget of 0 or more, got -1
func.func @pins(%in: memref<4xf32, #npu.sram> {sram.input, sram.offset = 32 : i64}) {
  %a = sram.alloc at 64 : memref<4xf32, #npu.sram>
  %b = sram.alloc : memref<8xf32, #npu.sram>
  %c = memref.alloc() {sram.offset = 48 : i64} : memref<4xf32, #npu.sram>
  "test.op"(%in, %a, %b, %c) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>, memref<8xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
