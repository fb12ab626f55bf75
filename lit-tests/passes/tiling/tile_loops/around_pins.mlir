// RUN: npu-opt %s --pass-pipeline=npu-tile-loops,npu-assign-sram-offsets | filecheck %s

// 1000 bytes, of which 200 in the middle are taken. Of the 800 free ones, 300 are in front of these, so two tiles of 400 have no
// place. So the offsets are decided here, and the tiles take no more than the gap of 500 bytes.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1000 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @around
  // CHECK-SAME: sram.arena = 500 : i64
  // CHECK: sram.alloc at 300 : memref<50xf32, #npu.sram>
  // CHECK: sram.alloc at 0 : memref<30xf32
  // CHECK: sram.alloc at 120 : memref<30xf32
  // CHECK: on_chip = 480 : i64
  func.func @around(%x: memref<300xf32, #npu.dram>, %y: memref<300xf32, #npu.dram>) {
    %a = sram.alloc at 300 : memref<50xf32, #npu.sram>
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    npu.relu ins(%x : memref<300xf32, #npu.dram>) outs(%y : memref<300xf32, #npu.dram>)
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    func.return
  }
}
