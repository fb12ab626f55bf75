// RUN: npu-opt %s --verify-diagnostics -p "npu-to-upstream{transfers=memref}" | filecheck %s
// RUN: npu-opt %s --verify-diagnostics -p "npu-to-upstream{dram-space=-1}" | filecheck %s --check-prefix=NEGATIVE
// RUN: npu-opt %s --verify-diagnostics -p "npu-to-upstream{transfers=memref sram-space=1}" | filecheck %s --check-prefix=BLOCKS

// CHECK: npu-to-upstream: memref.dma_start moves between two memory spaces; expected sram-space and dram-space to differ
// NEGATIVE: npu-to-upstream: expected memory spaces of at least 0, got -1
// BLOCKS: npu-to-upstream: memref.dma_start cannot skip blocks; expected transfers=calls
func.func @net(%x: memref<1x1x8x8xi8, #npu.dram> {dram.input}, %index: memref<1xi8, #npu.sram>, %tile: memref<1x1x8x8xi8, #npu.sram>) {
  %t = dma.start %x to %tile channel 1 blocks 4 zero 3 of %x, %index : memref<1x1x8x8xi8, #npu.dram> to memref<1x1x8x8xi8, #npu.sram> of memref<1x1x8x8xi8, #npu.dram>, memref<1xi8, #npu.sram>
  dma.wait %t
  func.return
}
