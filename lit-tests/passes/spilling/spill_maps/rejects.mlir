// RUN: npu-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(npu-spill-maps{maps="b.out"})' | filecheck %s

// A softmax needs its whole axis, wherever the map lies.
// CHECK: npu-spill-maps: @f: npu.softmax "scores" needs 4000 bytes of SRAM at least, small has 2048
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 2048 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
func.func @f(%x: memref<1000xf32, #npu.dram> {dram.input}, %y: memref<1000xf32, #npu.dram> {dram.output}) {
  %b = sram.alloc : memref<1000xf32, #npu.sram>
  npu.relu ins(%x : memref<1000xf32, #npu.dram>) outs(%b : memref<1000xf32, #npu.sram>) {npu.layer = "b", npu.value = "b.out"}
  npu.softmax ins(%b : memref<1000xf32, #npu.sram>) outs(%b : memref<1000xf32, #npu.sram>) axis 0 {npu.layer = "scores"}
  npu.relu ins(%b : memref<1000xf32, #npu.sram>) outs(%y : memref<1000xf32, #npu.dram>)
  func.return
}
}

// -----

// CHECK: npu-spill-maps: expected maps that layers write and that lie on chip, got 'b.out'
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 2048 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
func.func @f() {
  %a = sram.alloc : memref<8xf32, #npu.sram>
  npu.relu ins(%a : memref<8xf32, #npu.sram>) outs(%a : memref<8xf32, #npu.sram>) {npu.value = "a.out"}
  func.return
}
}

// -----

// CHECK: npu-spill-maps: @f: expected 'p' at a multiple of 4, got offset 2
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 2048 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
func.func @f() {
  %p = sram.alloc at 2 : memref<8xf32, #npu.sram>
  %b = sram.alloc : memref<8xf32, #npu.sram>
  npu.relu ins(%p : memref<8xf32, #npu.sram>) outs(%b : memref<8xf32, #npu.sram>) {npu.value = "b.out"}
  func.return
}
}
