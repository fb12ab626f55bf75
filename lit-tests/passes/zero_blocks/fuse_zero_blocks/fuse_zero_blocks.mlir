// RUN: npu-opt %s --pass-pipeline='npu-fuse-zero-blocks' | filecheck %s

// It rejects nothing: a layer that cannot prune in the tiles of another one stays where it is.

// The layer that prunes loses its loop, its transfers and its buffer.
// CHECK-LABEL: func.func @fused
func.func @fused(%x: memref<1x1x8x8xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %map = dram.alloc : memref<1x2x8x8xf32, #npu.dram>
  %tile = sram.alloc : memref<1x1x8x8xf32, #npu.sram>
  dma.writes %map {npu.layer = "r"} : memref<1x2x8x8xf32, #npu.dram>
  // CHECK: scf.for
  scf.for %i = %c0 to %c2 step %c1 {
    // CHECK: npu.relu
    // CHECK-NEXT: memref.subview
    // CHECK-NEXT: npu.prune_zero_blocks ins(%tile : memref<1x1x8x8xf32, #npu.sram>) outs(%tile : memref<1x1x8x8xf32, #npu.sram>) block 4 threshold 0.25 {npu.layer = "p", npu.value = "y", npu.runs = 2 : i64}
    // CHECK-NEXT: dma.start %tile
    npu.relu ins(%x : memref<1x1x8x8xf32, #npu.sram>) outs(%tile : memref<1x1x8x8xf32, #npu.sram>) {npu.layer = "r", npu.runs = 2 : i64}
    %part = memref.subview %map[0, %i, 0, 0] [1, 1, 8, 8] [1, 1, 1, 1] : memref<1x2x8x8xf32, #npu.dram> to memref<1x1x8x8xf32, strided<[128, 64, 8, 1], offset: ?>, #npu.dram>
    %s = dma.start %tile to %part channel 3 : memref<1x1x8x8xf32, #npu.sram> to memref<1x1x8x8xf32, strided<[128, 64, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  }
  // CHECK: }
  // CHECK-NEXT: func.return
  dma.reads %map {npu.layer = "p"} : memref<1x2x8x8xf32, #npu.dram>
  dma.writes %map {npu.layer = "p"} : memref<1x2x8x8xf32, #npu.dram>
  %again = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  %t = dma.start %map to %again channel 1 : memref<1x2x8x8xf32, #npu.dram> to memref<1x2x8x8xf32, #npu.sram>
  dma.wait %t
  npu.prune_zero_blocks ins(%again : memref<1x2x8x8xf32, #npu.sram>) outs(%again : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.25 {npu.layer = "p", npu.value = "y"}
  %u = dma.start %again to %map channel 3 : memref<1x2x8x8xf32, #npu.sram> to memref<1x2x8x8xf32, #npu.dram>
  dma.wait %u
  func.return
}

// Half of the map stays as it is.
// CHECK-LABEL: func.func @half
// CHECK: npu.relu
// CHECK-NEXT: dma.start
// CHECK: npu.prune_zero_blocks ins(%again
func.func @half(%x: memref<1x2x8x8xf32, #npu.sram>) {
  %map = dram.alloc : memref<1x2x8x8xf32, #npu.dram>
  npu.relu ins(%x : memref<1x2x8x8xf32, #npu.sram>) outs(%x : memref<1x2x8x8xf32, #npu.sram>)
  %s = dma.start %x to %map channel 3 : memref<1x2x8x8xf32, #npu.sram> to memref<1x2x8x8xf32, #npu.dram>
  dma.wait %s
  %again = sram.alloc : memref<1x1x8x8xf32, #npu.sram>
  %part = memref.subview %map[0, 1, 0, 0] [1, 1, 8, 8] [1, 1, 1, 1] : memref<1x2x8x8xf32, #npu.dram> to memref<1x1x8x8xf32, strided<[128, 64, 8, 1], offset: 64>, #npu.dram>
  %t = dma.start %part to %again channel 1 : memref<1x1x8x8xf32, strided<[128, 64, 8, 1], offset: 64>, #npu.dram> to memref<1x1x8x8xf32, #npu.sram>
  dma.wait %t
  npu.prune_zero_blocks ins(%again : memref<1x1x8x8xf32, #npu.sram>) outs(%again : memref<1x1x8x8xf32, #npu.sram>) block 4 threshold 0.25
  %u = dma.start %again to %part channel 3 : memref<1x1x8x8xf32, #npu.sram> to memref<1x1x8x8xf32, strided<[128, 64, 8, 1], offset: 64>, #npu.dram>
  dma.wait %u
  func.return
}

// Somebody reads the map as it was.
// CHECK-LABEL: func.func @read
// CHECK: npu.prune_zero_blocks ins(%again
func.func @read(%x: memref<1x1x8x8xf32, #npu.sram>, %y: memref<1x1x8x8xf32, #npu.sram>) {
  %map = dram.alloc : memref<1x1x8x8xf32, #npu.dram>
  npu.relu ins(%x : memref<1x1x8x8xf32, #npu.sram>) outs(%x : memref<1x1x8x8xf32, #npu.sram>)
  %s = dma.start %x to %map channel 3 : memref<1x1x8x8xf32, #npu.sram> to memref<1x1x8x8xf32, #npu.dram>
  dma.wait %s
  %r = dma.start %map to %y channel 1 : memref<1x1x8x8xf32, #npu.dram> to memref<1x1x8x8xf32, #npu.sram>
  dma.wait %r
  %again = sram.alloc : memref<1x1x8x8xf32, #npu.sram>
  %t = dma.start %map to %again channel 1 : memref<1x1x8x8xf32, #npu.dram> to memref<1x1x8x8xf32, #npu.sram>
  dma.wait %t
  npu.prune_zero_blocks ins(%again : memref<1x1x8x8xf32, #npu.sram>) outs(%again : memref<1x1x8x8xf32, #npu.sram>) block 4 threshold 0.25
  %u = dma.start %again to %map channel 3 : memref<1x1x8x8xf32, #npu.sram> to memref<1x1x8x8xf32, #npu.dram>
  dma.wait %u
  func.return
}
