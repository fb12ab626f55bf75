// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-dram-offsets)' --verify-diagnostics --split-input-file | filecheck %s

func.func @misaligned() {
  %a = dram.alloc at 8 : memref<4xf32, #npu.dram>
  func.return
}
// CHECK-LABEL: npu-assign-dram-offsets: @misaligned: expected 'a' at a multiple of 16, got offset 8

// -----

func.func @foreign() {
  %a = dram.alloc : memref<4xf32, #npu.dram>
  %b = memref.alloc() : memref<4xf32, #npu.dram>
  func.return
}
// CHECK: npu-assign-dram-offsets: expected dram.alloc for a buffer off the chip, got memref.alloc

// -----

func.func @caller() {
  %a = dram.alloc : memref<4xf32, #npu.dram>
  func.call @callee() : () -> ()
  func.return
}
func.func private @callee() {
  %a = dram.alloc : memref<4xf32, #npu.dram>
  func.return
}
// CHECK: npu-assign-dram-offsets: expected no call of @callee, which has off-chip buffers of its own: two plans would share the memory; inline it first
