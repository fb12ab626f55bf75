// RUN: npu-opt %s -p 'npu-attach-target{target=zynq7020},pl330-check' --verify-diagnostics | filecheck %s --check-prefix=ZYNQ
// RUN: npu-opt %s -p 'pl330-check' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s -p 'pl330-check{mfifo-bytes=512 channels=3}' | filecheck %s --check-prefix=OPTIONS

// The numbers are the machine's, where options say nothing.
// CHECK-LABEL: pl330-check: @p: expected a channel below 2, got 2
// CHECK-NEXT: pl330-check: @p, byte 0x0014: DMALD: expected at most 256 bytes in the MFIFO, got 384
// OPTIONS-LABEL: pl330.program @p channel 2
// ZYNQ-LABEL: pl330.program @p channel 2
module attributes {npu.target = #npu.target<"mine", {dma_beat_bytes = 8 : i64, dma_burst = 16 : i64, dma_channels = 2 : i64, dma_events = 4 : i64, dma_fifo_bytes = 256 : i64, sram_bytes = 4096 : i64, flash_bytes = 0 : i64, alignment = 1 : i64, registers = 16 : i64}>} {
  pl330.program @p channel 2 {
    pl330.mov ccr src 8x16 inc dst 8x16 inc
    pl330.mov sar patched 0
    pl330.mov dar patched 0
    pl330.loop 3 { pl330.ld }
    pl330.loop 3 { pl330.st }
    pl330.wmb
    pl330.sev 3
    pl330.end
  }
}
