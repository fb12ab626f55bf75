// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops | filecheck %s

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, kernel_group = 2 : i64, weight_buffers = 2 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @groups_of_kernels
  // CHECK: %b_tile = sram.alloc : memref<8xf32, #npu.sram>
  // CHECK-NEXT: dma.start weights %b to %b_tile channel 0
  // CHECK: %w_tile = sram.alloc : memref<2x4x3x3xf32, #npu.sram>
  // CHECK-NEXT: scf.for %out = %c0 to %c4 step %c1 {
  // CHECK: memref.subview %w[%1, 0, 0, 0] [2, 4, 3, 3]
  // CHECK-NEXT: dma.start weights %part to %w_tile channel 0
  // CHECK-NEXT: dma.wait
  // CHECK: memref.subview %b_tile[%3] [2] [1]
  // CHECK: memref.subview %y[0, %4, 0, 0] [1, 2, 9, 9]
  // CHECK-NEXT: npu.conv2d ins(%x, %w_tile, %part_1 : {{.*}} then relu {npu.layer = "c", npu.runs = 4 : i64, npu.tile = {sizes = {{{.*}}out = 2 : i64}, order = "out", bytes = 1184 : i64, transfers = 5 : i64, jumps = 5 : i64, compulsory_bytes = 1184 : i64, bound_bytes = 1184 : i64, on_chip = 608 : i64}}
  // CHECK-NEXT: } {npu.double_buffer}
  func.func @groups_of_kernels(%x: memref<1x4x9x9xf32, #npu.sram> {sram.input}, %w: memref<8x4x3x3xf32, #npu.dram>, %b: memref<8xf32, #npu.dram>, %y: memref<1x8x9x9xf32, #npu.sram>) {
    npu.conv2d ins(%x, %w, %b : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.dram>, memref<8xf32, #npu.dram>) outs(%y : memref<1x8x9x9xf32, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] then relu {npu.layer = "c"}
    func.return
  }

  // CHECK-LABEL: func.func @no_more_than_a_group
  // CHECK-NOT: scf.for
  // CHECK: dma.start weights %w to %w_tile channel 0
  // CHECK-NOT: npu.runs
  func.func @no_more_than_a_group(%x: memref<1x4x9x9xf32, #npu.sram> {sram.input}, %w: memref<2x4x3x3xf32, #npu.dram>, %y: memref<1x2x9x9xf32, #npu.sram>) {
    npu.conv2d ins(%x, %w : memref<1x4x9x9xf32, #npu.sram>, memref<2x4x3x3xf32, #npu.dram>) outs(%y : memref<1x2x9x9xf32, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1]
    func.return
  }
}

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 640 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64}>} {
  // The first tile starts from the bias, the last one has the activation; what is left of 16 in threes is
  // one more tile. Outputs stay on chip.
  // 
  // CHECK-LABEL: func.func @sums_in_parts
  // CHECK: dma.reads %x
  // CHECK-NEXT: dma.writes %y
  // CHECK: %x_tile = sram.alloc : memref<1x3x4x4xf32, #npu.sram>
  // CHECK: npu.conv2d ins(%x_tile, %w_tile, %b_tile : {{.*}} pads [0, 0, 0, 0] {npu.layer = "c", npu.runs = 1 : i64, npu.tile = {{{.*}}order = "in", bytes = 1288 : i64, transfers = 14 : i64,
  // CHECK: scf.for %in = %c0 to %c4 step %c1 {
  // CHECK: %part_2 = memref.subview %x[0, %in_at, 0, 0] [1, 3, 4, 4]
  // CHECK: npu.conv2d ins(%x_tile_1, %w_tile_1 : {{.*}} outs(%y_tile : {{.*}} accumulate {npu.layer = "c", npu.runs = 4 : i64}
  // CHECK-NEXT: } {npu.double_buffer}
  // CHECK: %x_tile_2 = sram.alloc : memref<1x1x4x4xf32, #npu.sram>
  // CHECK: npu.conv2d ins(%x_tile_2, %w_tile_2 : {{.*}} accumulate then relu {npu.layer = "c", npu.runs = 1 : i64}
  // CHECK-NEXT: dma.start %y_tile to %y channel 1
  // CHECK-NEXT: dma.wait
  // CHECK-NEXT: func.return
  func.func @sums_in_parts(%x: memref<1x16x4x4xf32, #npu.dram>, %w: memref<2x16x1x1xf32, #npu.dram>, %b: memref<2xf32, #npu.dram>, %y: memref<1x2x4x4xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w, %b : memref<1x16x4x4xf32, #npu.dram>, memref<2x16x1x1xf32, #npu.dram>, memref<2xf32, #npu.dram>) outs(%y : memref<1x2x4x4xf32, #npu.dram>) strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "c"}
    func.return
  }

  // CHECK-LABEL: func.func @pads_at_the_border
  // CHECK: memref.subview %x[0, 0, 0, 0] [1, 1, 9, 8]
  // CHECK: pads [1, 1, 0, 1]
  // CHECK: memref.subview %x[0, 0, 7, 0] [1, 1, 9, 8]
  // CHECK: pads [0, 1, 1, 1]
  func.func @pads_at_the_border(%x: memref<1x1x16x8xf32, #npu.dram>, %y: memref<1x1x16x8xf32, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x1x16x8xf32, #npu.dram>) outs(%y : memref<1x1x16x8xf32, #npu.dram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
    func.return
  }

  // CHECK-LABEL: func.func @in_place
  // CHECK: dma.start %part to %x_tile channel 1
  // CHECK: npu.relu ins(%x_tile : memref<80xf32, #npu.sram>) outs(%x_tile : memref<80xf32, #npu.sram>)
  // CHECK: dma.start %x_tile to %part_1 channel 1
  func.func @in_place(%x: memref<400xf32, #npu.dram>) {
    npu.relu ins(%x : memref<400xf32, #npu.dram>) outs(%x : memref<400xf32, #npu.dram>)
    func.return
  }

  // CHECK-LABEL: func.func @moves
  // CHECK-NEXT: dma.reads %a
  // CHECK-NEXT: %part = memref.subview %y[0, 0, 0] [1, 2, 4]
  // CHECK-NEXT: dma.start %a to %part channel 1
  // CHECK-NEXT: dma.wait
  // CHECK-NEXT: %part_1 = memref.subview %y[0, 2, 0] [1, 1, 4]
  // CHECK-NEXT: "memref.copy"(%b, %part_1)
  // CHECK-NEXT: dma.writes %z
  // CHECK-NEXT: dma.start %y to %z channel 1
  // CHECK-NEXT: dma.wait
  // CHECK-NEXT: func.return
  func.func @moves(%a: memref<1x2x4xf32, #npu.dram>, %b: memref<1x1x4xf32, #npu.sram>, %y: memref<1x3x4xf32, #npu.sram>, %z: memref<1x3x4xf32, #npu.dram>) {
    npu.concat ins(%a, %b : memref<1x2x4xf32, #npu.dram>, memref<1x1x4xf32, #npu.sram>) outs(%y : memref<1x3x4xf32, #npu.sram>) axis 1
    "memref.copy"(%y, %z) : (memref<1x3x4xf32, #npu.sram>, memref<1x3x4xf32, #npu.dram>) -> ()
    func.return
  }

  // CHECK-LABEL: func.func @from_dram_to_dram
  // CHECK: scf.for
  // CHECK: dma.start %part to %a_tile channel 1
  // CHECK: dma.start %a_tile to %part_1 channel 1
  func.func @from_dram_to_dram(%a: memref<400xf32, #npu.dram>, %z: memref<400xf32, #npu.dram>) {
    "memref.copy"(%a, %z) : (memref<400xf32, #npu.dram>, memref<400xf32, #npu.dram>) -> ()
    func.return
  }
}
