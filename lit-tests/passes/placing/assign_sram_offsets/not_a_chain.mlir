// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=ping-pong})' --verify-diagnostics --split-input-file | filecheck %s

func.func @residual(%in: memref<4xf32, #npu.sram> {sram.input}, %out: memref<4xf32, #npu.sram> {sram.output}) {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  npu.softmax ins(%in : memref<4xf32, #npu.sram>) outs(%a : memref<4xf32, #npu.sram>) axis 0
  npu.add ins(%in, %a : memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) outs(%out : memref<4xf32, #npu.sram>)
  func.return
}
// CHECK-LABEL: npu-assign-sram-offsets: @residual: expected a chain of buffers, each live together with its neighbours only, but 'in' still lives when 'out' is written, 2 buffers later; use strategy=greedy

// -----

func.func @pinned() {
  %a = sram.alloc at 64 : memref<4xf32, #npu.sram>
  "test.op"(%a) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}
// CHECK: npu-assign-sram-offsets: @pinned: expected 'a' at offset 0, its region, got it pinned at 64; use strategy=greedy
