// RUN: npu-opt %s --pass-pipeline=npu-tile-loops --verify-diagnostics --split-input-file | filecheck %s

// CHECK-LABEL: npu-tile-loops: c: its smallest tile needs 76 bytes on chip, there are 32 left
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 432 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @conv(%z: memref<100xf32, #npu.sram> {sram.input}, %x: memref<1x4x10x5xf32, #npu.dram>, %w: memref<4x4x3x3xf32, #npu.dram>, %y: memref<1x4x10x5xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x4x10x5xf32, #npu.dram>, memref<4x4x3x3xf32, #npu.dram>) outs(%y : memref<1x4x10x5xf32, #npu.dram>) strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "c"}
    npu.relu ins(%z : memref<100xf32, #npu.sram>) outs(%z : memref<100xf32, #npu.sram>)
    func.return
  }
}

// -----

// CHECK: npu-tile-loops: expected a machine with dma_channels to reach #npu.dram, got m
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64}>} {
  func.func @conv(%x: memref<1x4x10x5xf32, #npu.dram>, %w: memref<4x4x3x3xf32, #npu.dram>, %y: memref<1x4x10x5xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x4x10x5xf32, #npu.dram>, memref<4x4x3x3xf32, #npu.dram>) outs(%y : memref<1x4x10x5xf32, #npu.dram>) strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "c"}
    func.return
  }
}

// -----

// CHECK: npu-tile-loops: expected a machine with dma_channels to reach #npu.dram, got a module without npu.target
builtin.module {
  func.func @conv(%x: memref<1x4x10x5xf32, #npu.dram>, %w: memref<4x4x3x3xf32, #npu.dram>, %y: memref<1x4x10x5xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w : memref<1x4x10x5xf32, #npu.dram>, memref<4x4x3x3xf32, #npu.dram>) outs(%y : memref<1x4x10x5xf32, #npu.dram>) strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "c"}
    func.return
  }
}
