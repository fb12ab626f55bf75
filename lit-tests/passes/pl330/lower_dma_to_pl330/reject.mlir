// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=zynq7020},npu-lower-dma-to-pl330' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=exynos-npu},npu-lower-dma-to-pl330' --verify-diagnostics | filecheck %s --check-prefix=OTHER
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-lower-dma-to-pl330' --verify-diagnostics | filecheck %s --check-prefix=NONE

// CHECK-LABEL: npu-lower-dma-to-pl330: expected a channel below 8, got 8
// OTHER-LABEL: npu-lower-dma-to-pl330: expected a machine with a PL-330, got exynos-npu, which has none
// NONE-LABEL: npu-lower-dma-to-pl330: expected a machine with a PL-330, got no machine
func.func @channel(%x : memref<8xf32, #npu.dram>, %t : memref<8xf32, #npu.sram>) {
  %s = dma.start %x to %t channel 8 : memref<8xf32, #npu.dram> to memref<8xf32, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// CHECK-LABEL: npu-lower-dma-to-pl330: expected a transfer of at least 1 element, got memref<0x4xf32, #npu.dram>
func.func @empty(%x : memref<0x4xf32, #npu.dram>, %t : memref<0x4xf32, #npu.sram>) {
  %s = dma.start %x to %t channel 0 : memref<0x4xf32, #npu.dram> to memref<0x4xf32, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// CHECK-LABEL: npu-lower-dma-to-pl330: expected static strides, got memref<2x4xf32, strided<[?, 1]>, #npu.dram>
func.func @strides(%x : memref<2x4xf32, strided<[?, 1]>, #npu.dram>, %t : memref<2x4xf32, #npu.sram>) {
  %s = dma.start %x to %t channel 0 : memref<2x4xf32, strided<[?, 1]>, #npu.dram> to memref<2x4xf32, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// CHECK-LABEL: npu-lower-dma-to-pl330: expected elements of whole bytes, got i1
func.func @bits(%x : memref<4xi1, #npu.dram>, %t : memref<4xi1, #npu.sram>) {
  %s = dma.start %x to %t channel 0 : memref<4xi1, #npu.dram> to memref<4xi1, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// CHECK-LABEL: npu-lower-dma-to-pl330: expected a transfer that two nested loops can do, got 4 axes of runs
func.func @axes(%x : memref<400x400x400x400xi8, strided<[1000000000, 1000000, 1000, 2]>, #npu.dram>, %t : memref<400x400x400x400xi8, #npu.sram>) {
  %s = dma.start %x to %t channel 0 : memref<400x400x400x400xi8, strided<[1000000000, 1000000, 1000, 2]>, #npu.dram> to memref<400x400x400x400xi8, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// CHECK-LABEL: npu-lower-dma-to-pl330: expected a transfer of all elements: microcode cannot skip blocks
func.func @blocks(%x : memref<1x1x4x4xf32, #npu.dram>, %i : memref<1xi8, #npu.dram>, %t : memref<1x1x4x4xf32, #npu.sram>) {
  %s = dma.start %x to %t channel 0 blocks 4 zero 0 of %x, %i : memref<1x1x4x4xf32, #npu.dram> to memref<1x1x4x4xf32, #npu.sram> of memref<1x1x4x4xf32, #npu.dram>, memref<1xi8, #npu.dram>
  dma.wait %s
  func.return
}
