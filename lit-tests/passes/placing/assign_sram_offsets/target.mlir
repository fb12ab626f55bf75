// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' --verify-diagnostics --split-input-file | filecheck %s

// The machine's alignment holds for every buffer.

// CHECK-LABEL: func.func @fits() attributes {sram.arena = 19 : i64}
// CHECK: %a = sram.alloc at 0
// CHECK: %b = sram.alloc at 16
module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 500 : i64, flash_bytes = 0 : i64, alignment = 16 : i64}>} {
  func.func @fits() {
    %a = sram.alloc : memref<3xi8, #npu.sram>
    %b = sram.alloc : memref<3xi8, #npu.sram>
    "test.op"(%a, %b) : (memref<3xi8, #npu.sram>, memref<3xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// CHECK: npu-assign-sram-offsets: @large: 640 bytes of SRAM needed, 500 available on tiny; the buffers live at npu.softmax "s1" alone take 512:
// CHECK-NEXT:   the input  2x32xf32  [128, 384)  256 bytes
// CHECK-NEXT:   sums       2x32xf32  [384, 640)  256 bytes
module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 500 : i64, flash_bytes = 0 : i64}>} {
  func.func @large(%0: memref<2x32xf32, #npu.sram> {sram.input, npu.name = "the input", sram.offset = 128 : i64}) {
    %1 = sram.alloc : memref<2x32xf32, #npu.sram>
    npu.softmax ins(%0 : memref<2x32xf32, #npu.sram>) outs(%1 : memref<2x32xf32, #npu.sram>) axis 0 {npu.layer = "s1", npu.value = "sums"}
    func.return
  }
}

// -----

// CHECK: npu-assign-sram-offsets: @pin: expected 'a', pinned at 496, to end within the 500 bytes of tiny, got 512
module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 500 : i64, flash_bytes = 0 : i64}>} {
  func.func @pin() {
    %a = sram.alloc at 496 : memref<4xf32, #npu.sram>
    func.return
  }
}
