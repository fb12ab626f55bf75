// RUN: npu-opt %s --pass-pipeline='npu-compress-spills{block-size=4}' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-compress-spills{code=blocks}' | filecheck %s --check-prefix=BLOCKS
// RUN: npu-opt %s --pass-pipeline='npu-compress-spills{code=planes}' | filecheck %s --check-prefix=PLANES

// As bit planes 0.55 bytes move for each, and an index of 1/32; without zero blocks 0.6 and 1/128.
// CHECK-LABEL: func.func @planes
// CHECK: %map_index = dram.alloc : memref<4xi8, #npu.dram>
// CHECK: dma.start %tile to %map channel 3 planes blocks 16 zero -128 of %map, %map_index
// BLOCKS-LABEL: func.func @planes
// BLOCKS: %map_index = dram.alloc : memref<1xi8, #npu.dram>
// BLOCKS: dma.start %tile to %map channel 3 blocks 4 zero -128 of %map, %map_index
func.func @planes(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.55 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}

// With 0.58 the larger index makes the difference.
// CHECK-LABEL: func.func @blocks
// CHECK: dma.start %tile to %map channel 3 blocks 4 zero -128 of %map, %map_index
// PLANES-LABEL: func.func @blocks
// PLANES: dma.start %tile to %map channel 3 planes blocks 16 zero -128 of %map, %map_index
func.func @blocks(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.4 : f64, npu.bit_planes = 0.58 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}

// A signed map: the nearer of the two zeros that planes have is 0.
// CHECK-LABEL: func.func @signed
// CHECK: dma.start %tile to %map channel 3 planes blocks 16 zero 0 of %map, %map_index
func.func @signed(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -5] mode float {npu.zero_blocks = 0.0 : f64, npu.bit_planes = 0.9 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}

// Neither pays.
// CHECK-LABEL: func.func @full
// CHECK: dram.alloc {npu.not_compressed = "0 % of it are expected in zero blocks, an index pays from 0.781 % on"}
// PLANES-LABEL: func.func @full
// PLANES: dram.alloc {npu.not_compressed = "bit planes are not possible, or save nothing"}
func.func @full(%tile: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -5] mode float {npu.zero_blocks = 0.0 : f64, npu.bit_planes = 0.97 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  func.return
}

// A tile of one row is whole runs, but cuts blocks of four rows.
// CHECK-LABEL: func.func @row
// CHECK: dma.start %tile to %top channel 3 planes blocks 16 zero 0 of %map, %map_index
func.func @row(%tile: memref<1x1x1x20xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x8x20xi8, #npu.dram>
  %top = memref.subview %map[0, 0, 1, 0] [1, 1, 1, 20] [1, 1, 1, 1] : memref<1x1x8x20xi8, #npu.dram> to memref<1x1x1x20xi8, strided<[160, 160, 20, 1], offset: 20>, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x1x20xi8, #npu.sram>, memref<1x1x1x20xi8, #npu.sram>) outs(%tile : memref<1x1x1x20xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 0] mode float {npu.zero_blocks = 0.5 : f64, npu.bit_planes = 0.5 : f64}
  %s = dma.start %tile to %top channel 3 : memref<1x1x1x20xi8, #npu.sram> to memref<1x1x1x20xi8, strided<[160, 160, 20, 1], offset: 20>, #npu.dram>
  dma.wait %s
  func.return
}

// The part that is read has 2 of 32 columns, and cuts runs: 16 or 32 bytes move for 2. With the
// write, 4 * 32 bytes of a tile and 4 * 32 of runs stand for 4 * 32 and 4 * 2.
// CHECK-LABEL: func.func @cut
// CHECK: dma.start %tile to %map channel 3 blocks 4 zero -128 of %map, %map_index
func.func @cut(%tile: memref<1x1x4x32xi8, #npu.sram>, %few: memref<1x1x4x2xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.zero_blocks = 0.2 : f64, npu.bit_planes = 0.55 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  %part = memref.subview %map[0, 0, 0, 15] [1, 1, 4, 2] [1, 1, 1, 1] : memref<1x1x4x32xi8, #npu.dram> to memref<1x1x4x2xi8, strided<[128, 128, 32, 1], offset: 15>, #npu.dram>
  %t = dma.start %part to %few channel 1 : memref<1x1x4x2xi8, strided<[128, 128, 32, 1], offset: 15>, #npu.dram> to memref<1x1x4x2xi8, #npu.sram>
  dma.wait %t
  func.return
}

// Floats have no planes.
// PLANES-LABEL: func.func @floats
// PLANES: dram.alloc {npu.not_compressed = "bit planes are not possible, or save nothing"}
func.func @floats(%tile: memref<1x1x4x32xf32, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xf32, #npu.dram>
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xf32, #npu.sram> to memref<1x1x4x32xf32, #npu.dram>
  dma.wait %s
  func.return
}

// Layers with other zero points write to the map one after the other: the one that writes more says
// what zero is, and nothing is expected of the other one.
// CHECK-LABEL: func.func @again
// CHECK: dma.start %tile to %map channel 3 planes blocks 16 zero -128 of %map, %map_index
func.func @again(%tile: memref<1x1x4x32xi8, #npu.sram>, %other: memref<1x1x4x32xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x1x4x32xi8, #npu.dram>
  npu.quantized_add ins(%tile, %tile : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%tile : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, -128] mode float {npu.runs = 2 : i64, npu.zero_blocks = 0.1 : f64, npu.bit_planes = 0.6 : f64}
  %s = dma.start %tile to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %s
  npu.quantized_add ins(%other, %other : memref<1x1x4x32xi8, #npu.sram>, memref<1x1x4x32xi8, #npu.sram>) outs(%other : memref<1x1x4x32xi8, #npu.sram>) scales [1.0, 1.0, 1.0] zero_points [0, 0, 3] mode float {npu.zero_blocks = 0.5 : f64, npu.bit_planes = 0.1 : f64}
  %r = dma.start %other to %map channel 3 : memref<1x1x4x32xi8, #npu.sram> to memref<1x1x4x32xi8, #npu.dram>
  dma.wait %r
  func.return
}
