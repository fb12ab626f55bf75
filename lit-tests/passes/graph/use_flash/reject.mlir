// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='builtin.module(npu-lower-to-loops)' | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-use-flash{prefer=tiny})' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-use-flash{prefer=small bytes=4})' 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-use-flash{bytes=9223372036854775808})' 2>&1 | filecheck %s --check-prefix=LARGE

// LARGE-LABEL: npu-use-flash: expected bytes of at most 9223372036854775807, got 9223372036854775808
// BOTH-LABEL: npu-use-flash: expected either prefer or bytes of at least 0, got small and 4
// OPTION-LABEL: pass npu-use-flash: option prefer: expected one of fast, small, got 'tiny'
// CHECK-LABEL: npu-lower-to-loops: expected npu.flash "fast" or "small", got "tiny"
builtin.module attributes {npu.flash = "tiny"} {
  func.func @f(%x: memref<4xf32, #npu.sram>) {
    npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>)
    func.return
  }
}
