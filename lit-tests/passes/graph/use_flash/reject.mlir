// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='builtin.module(npu-lower-to-loops)' | filecheck %s

// CHECK: npu-lower-to-loops: expected npu.flash "fast" or "small", got "tiny"
builtin.module attributes {npu.flash = "tiny"} {
  func.func @f(%x: memref<4xf32, #npu.sram>) {
    npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>)
    func.return
  }
}
