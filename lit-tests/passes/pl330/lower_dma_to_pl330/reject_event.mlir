// RUN: npu-opt %s --pass-pipeline='npu-lower-dma-to-pl330' --verify-diagnostics | filecheck %s

// Each channel signals the event of its own number.

// CHECK-LABEL: npu-lower-dma-to-pl330: expected an event for channel 3, m has 2 of them
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, dma_events = 2 : i64, dma_fifo_bytes = 1024 : i64, dma_beat_bytes = 8 : i64, dma_burst = 16 : i64}>} {
  func.func @event(%x : memref<8xf32, #npu.dram>, %t : memref<8xf32, #npu.sram>) {
    %s = dma.start %x to %t channel 3 : memref<8xf32, #npu.dram> to memref<8xf32, #npu.sram>
    dma.wait %s
    func.return
  }
}
