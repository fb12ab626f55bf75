// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops | filecheck %s
// UPSTREAM: npu-tile-loops,npu-double-buffer,npu-assign-sram-offsets,npu-assign-dram-offsets,npu-to-upstream

// Ops of linalg are cut along the dimensions of their indexing maps. A sum is cut, too: each tile of the destination is
// fetched, added to and stored. Here a tile has all rows and columns, so nothing is fetched twice.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 2048 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @sums
  // CHECK: [[C:%c_tile[_0-9]*]] = sram.alloc : memref<16x8xf32, #npu.sram>
  // CHECK: dma.start %c to [[C]]
  // CHECK: scf.for %d2
  // CHECK: dma.start {{.*}} to %a_tile{{.*}} : memref<16x8xf32
  // CHECK: dma.start {{.*}} to %b_tile{{.*}} : memref<8x8xf32
  // CHECK: linalg.matmul {npu.runs = 4 : i64, npu.tile = {sizes = {d0 = 16 : i64, d1 = 8 : i64, d2 = 8 : i64}, order = "d2"
  // CHECK-SAME: outs([[C]] : memref<16x8xf32, #npu.sram>)
  // CHECK: npu.double_buffer
  // CHECK: dma.start [[C]] to %c
  func.func @sums(%a: memref<16x32xf32, #npu.dram>, %b: memref<32x8xf32, #npu.dram>, %c: memref<16x8xf32, #npu.dram>) {
    linalg.matmul ins(%a, %b : memref<16x32xf32, #npu.dram>, memref<32x8xf32, #npu.dram>) outs(%c : memref<16x8xf32, #npu.dram>)
    func.return
  }
}

// -----

// A window: columns 2 x + j of the input. Tiles of four columns of the output need nine columns of it.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 3000 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @window
  // CHECK: scf.for %d3
  // CHECK: scf.for %d4
  // CHECK: memref.subview %x[0, %d4, 0, {{%[0-9]+}}] [1, 1, 17, 9]
  // CHECK: linalg.conv_2d_nchw_fchw {{.*}} ins(%x_tile{{.*}}, %w_tile{{.*}} outs(%y_tile{{.*}} : memref<1x8x8x4xf32, #npu.sram>)
  func.func @window(%x: memref<1x4x17x17xf32, #npu.dram>, %w: memref<8x4x3x3xf32, #npu.dram>, %y: memref<1x8x8x8xf32, #npu.dram>) {
    linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %w : memref<1x4x17x17xf32, #npu.dram>, memref<8x4x3x3xf32, #npu.dram>) outs(%y : memref<1x8x8x8xf32, #npu.dram>)
    func.return
  }
}

// -----

// What does not read its destination does not fetch it. An index that is no sum of multiples keeps its dimension whole.

#id = affine_map<(i, j) -> (i, j)>
#half = affine_map<(i, j) -> (i, j floordiv 2)>
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @stretch
  // CHECK: scf.for %d0
  // CHECK: dma.start {{.*}} to %x_tile{{.*}} memref<1x16xf32, #npu.sram>
  // CHECK-NOT: dma.start
  // CHECK: linalg.generic
  // CHECK: dma.start %y_tile{{.*}} memref<1x32xf32, #npu.sram>
  func.func @stretch(%x: memref<8x16xf32, #npu.dram>, %y: memref<8x32xf32, #npu.dram>) {
    linalg.generic {indexing_maps = [#half, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x16xf32, #npu.dram>) outs(%y : memref<8x32xf32, #npu.dram>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    func.return
  }
}

// -----

// An op that asks where it is in the map is one tile.

#id = affine_map<(i) -> (i)>
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @place
  // CHECK-NOT: scf.for
  // CHECK: linalg.generic
  // CHECK: dma.start %y_tile to %y
  func.func @place(%y: memref<32xi32, #npu.dram>) {
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<32xi32, #npu.dram>) {
    ^bb0(%out: i32):
      %i = linalg.index 0 : index
      %0 = arith.index_cast %i : index to i32
      linalg.yield %0 : i32
    }
    func.return
  }
}

// -----

// A sum over the second dimension, of which each tile has a part.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @reduce
  // CHECK: dma.start %s to %s_tile
  // CHECK: scf.for %d1
  // CHECK: linalg.reduce ins(%x_tile{{.*}}) outs(%s_tile{{[_0-9]*}}:memref<8xf32, #npu.sram>) dimensions = [1]
  // CHECK: dma.start %s_tile to %s
  func.func @reduce(%x: memref<8x64xf32, #npu.dram>, %s: memref<8xf32, #npu.dram>) {
    linalg.reduce ins(%x:memref<8x64xf32, #npu.dram>) outs(%s:memref<8xf32, #npu.dram>) dimensions = [1]
    (%in: f32, %acc: f32) {
      %0 = arith.addf %in, %acc : f32
      linalg.yield %0 : f32
    }
    func.return
  }
}
