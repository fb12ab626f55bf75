// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' --verify-diagnostics --split-input-file | filecheck %s

func.func @dynamic(%n: index) {
  %a = memref.alloc(%n) : memref<?xf32, #npu.sram>
  func.return
}
// CHECK-LABEL: npu-assign-sram-offsets: expected an on-chip buffer of static size, got memref<?xf32, #npu.sram>

// -----

func.func @layout() {
  %a = memref.alloc() : memref<4xf32, strided<[?]>, #npu.sram>
  func.return
}
// CHECK: npu-assign-sram-offsets: expected an on-chip buffer with a static strided layout, got memref<4xf32, strided<[?]>, #npu.sram>

// -----

func.func @element() {
  %a = memref.alloc() : memref<4xindex, #npu.sram>
  func.return
}
// CHECK: npu-assign-sram-offsets: expected on-chip elements of a known size, got index

// -----

func.func @misaligned() {
  %a = sram.alloc at 2 : memref<4xf32, #npu.sram>
  func.return
}
// CHECK: npu-assign-sram-offsets: @misaligned: expected 'a' at a multiple of 4, got offset 2

// -----

func.func @collision() {
  %a = sram.alloc at 0 : memref<4xf32, #npu.sram>
  %b = sram.alloc at 8 : memref<4xf32, #npu.sram>
  "test.op"(%a, %b) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}
// CHECK: npu-assign-sram-offsets: @collision: 'a' [0, 16) and 'b' [8, 24) share memory while both live

// -----

func.func @pin_type() {
  %a = memref.alloc() {sram.offset = "here"} : memref<4xf32, #npu.sram>
  func.return
}
// CHECK: expected sram.offset to be an integer, got "here"

// -----

func.func @iterations(%low: index, %high: index, %step: index) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %r = scf.for %i = %low to %high step %step iter_args(%x = %a) -> (memref<4xf32, #npu.sram>) {
    %b = sram.alloc : memref<4xf32, #npu.sram>
    scf.yield %b : memref<4xf32, #npu.sram>
  }
  func.return
}
// CHECK: npu-assign-sram-offsets: expected a buffer that scf.for carries to its next iteration to be allocated before it: one offset cannot serve two iterations

// -----

func.func @caller() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  func.call @callee() : () -> ()
  func.return
}
func.func @callee() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  func.return
}
// CHECK: npu-assign-sram-offsets: expected no call of @callee, which has on-chip buffers of its own: two arenas would share the memory; inline it first

// -----

// CHECK: @huge: expected an arena below 2^63 bytes, got 36893488147419103232
func.func @huge() {
  %a = memref.alloc() : memref<9223372036854775808xf32, #npu.sram>
  func.return
}

// -----

// CHECK: expected npu.target to be an #npu.target<...>, got "fe310"
builtin.module attributes {npu.target = "fe310"} {
}

// -----

// CHECK: npu-assign-sram-offsets: @nameless: expected 'buf1' at a multiple of 4, got offset 2
func.func @nameless() {
  %0 = sram.alloc : memref<4xf32, #npu.sram>
  %1 = sram.alloc at 2 : memref<4xf32, #npu.sram>
  func.return
}
