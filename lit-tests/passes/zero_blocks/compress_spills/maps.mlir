// RUN: npu-opt %s --pass-pipeline='npu-compress-spills{block-size=4}' | filecheck %s

// CHECK-LABEL: func.func @half
func.func @half(%tile: memref<1x2x4x9xi8, #npu.sram>, %other: memref<1x2x3x9xi8, #npu.sram>) {
  // CHECK: %map_index = dram.alloc : memref<2xi8, #npu.dram>
  // CHECK-NEXT: %map = dram.alloc : memref<1x2x8x9xi8, #npu.dram>
  %map = dram.alloc : memref<1x2x8x9xi8, #npu.dram>
  %low = memref.subview %map[0, 0, 4, 0] [1, 2, 4, 9] [1, 1, 1, 1] : memref<1x2x8x9xi8, #npu.dram> to memref<1x2x4x9xi8, strided<[144, 72, 9, 1], offset: 36>, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x2x4x9xi8, #npu.sram>, memref<1x2x4x9xi8, #npu.sram>) outs(%tile : memref<1x2x4x9xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float
  // CHECK: %s = dma.start %tile to %low channel 3 blocks 4 zero 0 of %map, %map_index :
  %s = dma.start %tile to %low channel 3 : memref<1x2x4x9xi8, #npu.sram> to memref<1x2x4x9xi8, strided<[144, 72, 9, 1], offset: 36>, #npu.dram>
  dma.wait %s
  // A part that is read may cut blocks.
  %mid = memref.subview %map[0, 0, 3, 0] [1, 2, 3, 9] [1, 1, 1, 1] : memref<1x2x8x9xi8, #npu.dram> to memref<1x2x3x9xi8, strided<[144, 72, 9, 1], offset: 27>, #npu.dram>
  // CHECK: %t = dma.start %mid to %other channel 1 blocks 4 zero 0 of %map, %map_index :
  %t = dma.start %mid to %other channel 1 : memref<1x2x3x9xi8, strided<[144, 72, 9, 1], offset: 27>, #npu.dram> to memref<1x2x3x9xi8, #npu.sram>
  dma.wait %t
  func.return
}

// CHECK-LABEL: func.func @cut
func.func @cut(%tile: memref<1x2x4x9xf32, #npu.sram>) {
  // CHECK: %map = dram.alloc {npu.not_compressed = "its tiles of 4 x 9 cut blocks of 4 x 4"} : memref<1x2x8x9xf32, #npu.dram>
  %map = dram.alloc : memref<1x2x8x9xf32, #npu.dram>
  %low = memref.subview %map[0, 0, 2, 0] [1, 2, 4, 9] [1, 1, 1, 1] : memref<1x2x8x9xf32, #npu.dram> to memref<1x2x4x9xf32, strided<[144, 72, 9, 1], offset: 18>, #npu.dram>
  // CHECK: %s = dma.start %tile to %low channel 3 :
  %s = dma.start %tile to %low channel 3 : memref<1x2x4x9xf32, #npu.sram> to memref<1x2x4x9xf32, strided<[144, 72, 9, 1], offset: 18>, #npu.dram>
  dma.wait %s
  func.return
}

// CHECK-LABEL: func.func @vector
func.func @vector(%tile: memref<64xf32, #npu.sram>) {
  // CHECK: dram.alloc {npu.not_compressed = "it has no rows and columns"}
  %map = dram.alloc : memref<64xf32, #npu.dram>
  %s = dma.start %tile to %map channel 3 : memref<64xf32, #npu.sram> to memref<64xf32, #npu.dram>
  dma.wait %s
  func.return
}

// An index of a bit for 128 saves as much as it costs from 1 / 128 on: there it pays still.
// CHECK-LABEL: func.func @break_even
func.func @break_even(%tile: memref<1x1x4x4xi8, #npu.sram>) {
  // CHECK: %map_index = dram.alloc
  %map = dram.alloc : memref<1x1x4x4xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x4xi8, #npu.sram>, memref<1x1x4x4xi8, #npu.sram>) outs(%tile : memref<1x1x4x4xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float {npu.zero_blocks = 0.0078125 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x4xi8, #npu.sram> to memref<1x1x4x4xi8, #npu.dram>
  dma.wait %s
  func.return
}

// CHECK-LABEL: func.func @below
func.func @below(%tile: memref<1x1x4x4xi8, #npu.sram>) {
  // CHECK: dram.alloc {npu.not_compressed = "0.775 % of it are expected in zero blocks, an index pays from 0.781 % on"}
  %map = dram.alloc : memref<1x1x4x4xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x4xi8, #npu.sram>, memref<1x1x4x4xi8, #npu.sram>) outs(%tile : memref<1x1x4x4xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float {npu.zero_blocks = 0.00775 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x4xi8, #npu.sram> to memref<1x1x4x4xi8, #npu.dram>
  dma.wait %s
  func.return
}
