// RUN: npu-opt %s --pass-pipeline='npu-prune-zero-blocks{block-size=4 threshold=0.25}' | filecheck %s

// CHECK-LABEL: func.func @on_the_way
func.func @on_the_way(%x: memref<1x2x4x8xf32, #npu.sram>) {
  %map = dram.alloc : memref<1x2x8x8xf32, #npu.dram>
  %tile = sram.alloc : memref<1x2x4x8xf32, #npu.sram>
  %low = memref.subview %map[0, 0, 4, 0] [1, 2, 4, 8] [1, 1, 1, 1] : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x4x8xf32, strided<[128, 64, 8, 1], offset: 32>, #npu.dram>
  // CHECK: npu.relu
  // CHECK-NEXT: npu.prune_zero_blocks ins(%tile : memref<1x2x4x8xf32, #npu.sram>) outs(%tile : memref<1x2x4x8xf32, #npu.sram>) block 4 threshold 0.25 {npu.layer = "r", npu.value = "y"}
  // CHECK-NEXT: dma.start %tile to %low
  npu.relu ins(%x : memref<1x2x4x8xf32, #npu.sram>) outs(%tile : memref<1x2x4x8xf32, #npu.sram>) {npu.layer = "r", npu.value = "y"}
  %s = dma.start %tile to %low channel 3 : memref<1x2x4x8xf32, #npu.sram> to memref<1x2x4x8xf32, strided<[128, 64, 8, 1], offset: 32>, #npu.dram>
  dma.wait %s
  func.return
}

// No ReLU.
// CHECK-LABEL: func.func @sums
// CHECK-NOT: npu.prune_zero_blocks
func.func @sums(%x: memref<1x2x8x8xf32, #npu.sram>) {
  %map = dram.alloc : memref<1x2x8x8xf32, #npu.dram>
  npu.add ins(%x, %x : memref<1x2x8x8xf32, #npu.sram>, memref<1x2x8x8xf32, #npu.sram>) outs(%x : memref<1x2x8x8xf32, #npu.sram>)
  %s = dma.start %x to %map channel 3 : memref<1x2x8x8xf32, #npu.sram> to memref<1x2x8x8xf32, #npu.dram>
  dma.wait %s
  func.return
}

// The tile cuts blocks.
// CHECK-LABEL: func.func @cut
// CHECK-NOT: npu.prune_zero_blocks
func.func @cut(%tile: memref<1x2x4x8xf32, #npu.sram>) {
  %map = dram.alloc : memref<1x2x8x8xf32, #npu.dram>
  %low = memref.subview %map[0, 0, 2, 0] [1, 2, 4, 8] [1, 1, 1, 1] : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x4x8xf32, strided<[128, 64, 8, 1], offset: 16>, #npu.dram>
  npu.relu ins(%tile : memref<1x2x4x8xf32, #npu.sram>) outs(%tile : memref<1x2x4x8xf32, #npu.sram>)
  %s = dma.start %tile to %low channel 3 : memref<1x2x4x8xf32, #npu.sram> to memref<1x2x4x8xf32, strided<[128, 64, 8, 1], offset: 16>, #npu.dram>
  dma.wait %s
  func.return
}
