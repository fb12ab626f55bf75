// RUN: npu-opt %s --pass-pipeline=npu-tile-loops,npu-assign-sram-offsets | filecheck %s

// 1000 bytes, of which 200 in the middle are taken. The 800 free ones are no run, so tiles that take them all have no
// place. So the offsets are decided here, and the tiles take no more than a gap of 400 bytes.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1000 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @around
  // CHECK-SAME: sram.arena = 600 : i64
  // CHECK: sram.alloc at 400 : memref<50xf32, #npu.sram>
  // CHECK: sram.alloc at 0 : memref<25xf32
  // CHECK: sram.alloc at 100 : memref<25xf32
  // CHECK: on_chip = 400 : i64
  func.func @around(%x: memref<300xf32, #npu.dram>, %y: memref<300xf32, #npu.dram>) {
    %a = sram.alloc at 400 : memref<50xf32, #npu.sram>
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    npu.relu ins(%x : memref<300xf32, #npu.dram>) outs(%y : memref<300xf32, #npu.dram>)
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    func.return
  }
}
