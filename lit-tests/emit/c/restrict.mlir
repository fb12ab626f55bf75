// RUN: npu-opt %s -t c | filecheck %s
// RUN: npu-opt %s -t 'c{weights=bin}' | filecheck %s --check-prefix BIN

// A pointer is `restrict` only where the offsets of every call keep its bytes apart from those that are written,
// `const` only where nothing writes through it. Weights in a file are read through a pointer.

// CHECK-LABEL: /* apart
// CHECK: static void plan_apart(const float *NPU_RESTRICT from, float *NPU_RESTRICT to)
// CHECK: memcpy(to, from, 4 * sizeof(float));
// CHECK: static void plan_overlaps(const float *from, float *to)
// CHECK: memmove(to, from, 4 * sizeof(float));
// CHECK: static void plan_reads(const float *NPU_RESTRICT table, float *NPU_RESTRICT to)
// CHECK: plan_overlaps(a, b);
// CHECK: plan_reads(plan_table, c);

// BIN-LABEL: #define PLAN_WEIGHTS_BYTES 16
// BIN: int plan_run(void *arena, const void *weights);
// BIN: #define PLAN_TABLE_BYTE 0
// BIN: const float *const t = (const float *)(const void *)(parameters + PLAN_TABLE_BYTE);
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()
func.func private @apart(%from: memref<4xf32, #npu.sram>, %to: memref<4xf32, #npu.sram>) {
  "memref.copy"(%from, %to) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
func.func private @overlaps(%from: memref<4xf32, #npu.sram>, %to: memref<4xf32, #npu.sram>) {
  "memref.copy"(%from, %to) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
func.func private @reads(%table: memref<4xf32, #npu.flash>, %to: memref<4xf32, #npu.sram>) {
  "memref.copy"(%table, %to) : (memref<4xf32, #npu.flash>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
func.func @plan() attributes {sram.arena = 48 : i64} {
  %a = sram.alloc at 0 : memref<4xf32, #npu.sram>
  %b = sram.alloc at 8 : memref<4xf32, #npu.sram>
  %c = sram.alloc at 32 : memref<4xf32, #npu.sram>
  %t = memref.get_global @table : memref<4xf32, #npu.flash>
  func.call @apart(%a, %c) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.call @overlaps(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.call @overlaps(%a, %c) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.call @reads(%t, %c) : (memref<4xf32, #npu.flash>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
