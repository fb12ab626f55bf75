// RUN: npu-opt %s --verify-diagnostics --pass-pipeline=npu-keep-maps | filecheck %s

// CHECK: npu-keep-maps: @f: expected 'p' at a multiple of 4, got offset 2
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 2048 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
func.func @f(%x : memref<8xf32, #npu.dram> {dram.input}) {
  %p = sram.alloc at 2 : memref<8xf32, #npu.sram>
  npu.relu ins(%x : memref<8xf32, #npu.dram>) outs(%p : memref<8xf32, #npu.sram>)
  npu.relu ins(%x : memref<8xf32, #npu.dram>) outs(%p : memref<8xf32, #npu.sram>)
  func.return
}
}
