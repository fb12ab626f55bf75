// RUN: npu-opt %s --pass-pipeline=npu-tile-loops | filecheck %s
// RUN: npu-opt %s --pass-pipeline=npu-tile-loops{sharing=false} | filecheck %s --check-prefix=APART

// Layers that read the same map run on the same tiles of it.
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {i8 = 4 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 1 : i64}>} {
  // Tiles of channels: both add to their sums, whatever their windows are. The second one leaves out rows and columns on chip.
  // A view of the map between the two does nothing.
  // CHECK-LABEL: func.func @channels
  // CHECK: dma.reads %x
  // CHECK-NOT: dma.reads %x
  // CHECK: scf.for
  // CHECK: dma.start %{{.*}} to %[[tile:x_tile[a-z_0-9]*]] channel 1 {npu.layer = "b"}
  // CHECK: dma.start weights %{{.*}} {npu.layer = "b"}
  // CHECK: dma.start weights %{{.*}} to %[[v:v_tile[a-z_0-9]*]] channel 0 {npu.layer = "a"} : {{.*}} memref<4x1x3x3xi8, #npu.sram>
  // CHECK: npu.conv2d ins(%[[tile]], %[[v]] : {{.*}}) outs(%y : {{.*}}) {{.*}} accumulate {npu.layer = "a"
  // CHECK-NEXT: %[[part:[a-z_0-9]+]] = memref.subview %[[tile]][0, 0, 0, 0]
  // CHECK: npu.conv2d ins(%[[part]], {{.*}}) outs(%z : {{.*}}) strides [2, 2] {{.*}} accumulate {npu.layer = "b"
  // CHECK: return
  // APART-LABEL: func.func @channels
  // APART: dma.reads %x {npu.layer = "a"}
  // APART: dma.reads %x {npu.layer = "b"}
  func.func @channels(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<4x24x3x3xi8, #npu.dram>, %w: memref<8x24x1x1xi8, #npu.dram>) {
    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    %z = sram.alloc : memref<1x8x4x4xi8, #npu.sram>
    npu.conv2d ins(%x, %v : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x3x3xi8, #npu.dram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>) pads [1, 1, 1, 1] {npu.layer = "a"}
    %half = memref.subview %x[0, 0, 0, 0] [1, 12, 8, 8] [1, 1, 1, 1] : memref<1x24x8x8xi8, #npu.dram> to memref<1x12x8x8xi8, strided<[1536, 64, 8, 1]>, #npu.dram>
    npu.conv2d ins(%x, %w : memref<1x24x8x8xi8, #npu.dram>, memref<8x24x1x1xi8, #npu.dram>) outs(%z : memref<1x8x4x4xi8, #npu.sram>) strides [2, 2] {npu.layer = "b"}
    npu.relu ins(%y : memref<1x4x8x8xi8, #npu.sram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    func.return
  }

  // Tiles of rows, with outputs in parts of one map off the chip. A relu runs on the tiles in front of both.
  // CHECK-LABEL: func.func @rows
  // CHECK: scf.for
  // CHECK: npu.relu ins(%[[tile:x_tile[a-z_0-9]*]] : {{.*}}) outs(%[[tile]] :
  // CHECK: npu.conv2d ins(%[[tile]], {{.*}}) outs(%[[y:y_tile[a-z_0-9]*]] : {{.*}} npu.tile
  // CHECK: npu.conv2d ins(%[[tile]], {{.*}}) outs(%[[z:z_tile[a-z_0-9]*]] : {{.*}} npu.tile
  // CHECK: dma.start %[[y]] to %{{.*}} {npu.layer = "a"}
  // CHECK: dma.start %[[z]] to %{{.*}} {npu.layer = "b"}
  // CHECK: return
  func.func @rows(%x: memref<1x4x32x8xi8, #npu.dram>, %v: memref<4x4x1x1xi8, #npu.dram>, %w: memref<8x4x1x1xi8, #npu.dram>, %all: memref<1x12x32x8xi8, #npu.dram>) {
    %y = memref.subview %all[0, 0, 0, 0] [1, 4, 32, 8] [1, 1, 1, 1] : memref<1x12x32x8xi8, #npu.dram> to memref<1x4x32x8xi8, strided<[3072, 256, 8, 1]>, #npu.dram>
    %z = memref.subview %all[0, 4, 0, 0] [1, 8, 32, 8] [1, 1, 1, 1] : memref<1x12x32x8xi8, #npu.dram> to memref<1x8x32x8xi8, strided<[3072, 256, 8, 1], offset: 1024>, #npu.dram>
    %r = dram.alloc : memref<1x4x32x8xi8, #npu.dram>
    npu.relu ins(%x : memref<1x4x32x8xi8, #npu.dram>) outs(%r : memref<1x4x32x8xi8, #npu.dram>) {npu.layer = "r"}
    npu.conv2d ins(%r, %v : memref<1x4x32x8xi8, #npu.dram>, memref<4x4x1x1xi8, #npu.dram>) outs(%y : memref<1x4x32x8xi8, strided<[3072, 256, 8, 1]>, #npu.dram>) {npu.layer = "a"}
    npu.conv2d ins(%r, %w : memref<1x4x32x8xi8, #npu.dram>, memref<8x4x1x1xi8, #npu.dram>) outs(%z : memref<1x8x32x8xi8, strided<[3072, 256, 8, 1], offset: 1024>, #npu.dram>) {npu.layer = "b"}
    func.return
  }

  // Three of them. The windows of the last one leave the end of the map out.
  // CHECK-LABEL: func.func @three
  // CHECK: npu.max_pool2d ins(%[[tile:x_tile[a-z_0-9]*]] :
  // CHECK: npu.avg_pool2d ins(%[[tile]] :
  // CHECK: %[[part:[a-z_0-9]+]] = memref.subview %[[tile]][0, 0, 0, 0] [1, 1, 15, 15]
  // CHECK: npu.max_pool2d ins(%[[part]] :
  // CHECK: return
  func.func @three(%x: memref<1x8x16x16xi8, #npu.dram>) {
    %a = sram.alloc : memref<1x8x4x4xi8, #npu.sram>
    %b = sram.alloc : memref<1x8x4x4xi8, #npu.sram>
    %c = sram.alloc : memref<1x8x3x3xi8, #npu.sram>
    npu.max_pool2d ins(%x : memref<1x8x16x16xi8, #npu.dram>) outs(%a : memref<1x8x4x4xi8, #npu.sram>) kernel [4, 4] strides [4, 4]
    npu.avg_pool2d ins(%x : memref<1x8x16x16xi8, #npu.dram>) outs(%b : memref<1x8x4x4xi8, #npu.sram>) kernel [4, 4] strides [4, 4]
    npu.max_pool2d ins(%x : memref<1x8x16x16xi8, #npu.dram>) outs(%c : memref<1x8x3x3xi8, #npu.sram>) kernel [5, 5] strides [5, 5]
    npu.relu ins(%a : memref<1x8x4x4xi8, #npu.sram>) outs(%a : memref<1x8x4x4xi8, #npu.sram>)
    npu.relu ins(%b : memref<1x8x4x4xi8, #npu.sram>) outs(%b : memref<1x8x4x4xi8, #npu.sram>)
    func.return
  }

  // Left alone: the first one overwrites the map that the second one reads.
  // CHECK-LABEL: func.func @overwritten
  // CHECK: dma.reads %x
  // CHECK: dma.reads %x
  // CHECK: return
  func.func @overwritten(%x: memref<1x24x8x8xi8, #npu.dram>) {
    %y = sram.alloc : memref<1x24x4x4xi8, #npu.sram>
    npu.relu ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%x : memref<1x24x8x8xi8, #npu.dram>)
    npu.max_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.sram>) kernel [2, 2] strides [2, 2]
    func.return
  }

  // Left alone: the second one reads what the first one computes.
  // CHECK-LABEL: func.func @needed
  // CHECK: dma.reads %x
  // CHECK: dma.reads %x
  // CHECK: return
  func.func @needed(%x: memref<1x24x8x8xi8, #npu.dram>, %y: memref<1x24x8x8xi8, #npu.dram>, %z: memref<1x24x8x8xi8, #npu.dram>) {
    npu.relu ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x8x8xi8, #npu.dram>)
    npu.add ins(%x, %y : memref<1x24x8x8xi8, #npu.dram>, memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x8x8xi8, #npu.dram>)
    func.return
  }

  // Left alone: a tile of rows of both is not the same part of the map.
  // CHECK-LABEL: func.func @windows
  // CHECK: dma.reads %x
  // CHECK: dma.reads %x
  // CHECK: return
  func.func @windows(%x: memref<1x1x64x8xi8, #npu.dram>, %v: memref<4x1x3x3xi8, #npu.dram>, %w: memref<4x1x1x1xi8, #npu.dram>, %y: memref<1x4x64x8xi8, #npu.dram>, %z: memref<1x4x64x8xi8, #npu.dram>) {
    npu.conv2d ins(%x, %v : memref<1x1x64x8xi8, #npu.dram>, memref<4x1x3x3xi8, #npu.dram>) outs(%y : memref<1x4x64x8xi8, #npu.dram>) pads [1, 1, 1, 1]
    npu.conv2d ins(%x, %w : memref<1x1x64x8xi8, #npu.dram>, memref<4x1x1x1xi8, #npu.dram>) outs(%z : memref<1x4x64x8xi8, #npu.dram>)
    func.return
  }

  // Left alone: kernels are computed on tiles of their own.
  // CHECK-LABEL: func.func @kernels
  // CHECK: dma.reads %x
  // CHECK: npu.relu ins(%v_tile
  // CHECK: dma.reads %x
  // CHECK: return
  func.func @kernels(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<4x24x1x1xi8, #npu.dram>, %w: memref<4x24x1x1xi8, #npu.dram>, %y: memref<1x4x8x8xi8, #npu.dram>, %z: memref<1x4x8x8xi8, #npu.dram>) {
    %k = dram.alloc : memref<4x24x1x1xi8, #npu.dram>
    npu.relu ins(%v : memref<4x24x1x1xi8, #npu.dram>) outs(%k : memref<4x24x1x1xi8, #npu.dram>)
    npu.conv2d ins(%x, %k : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%y : memref<1x4x8x8xi8, #npu.dram>)
    npu.conv2d ins(%x, %w : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>)
    func.return
  }

  // Left alone: they need different rows. The second one then leaves out elements in its transfers, as without the first one.
  // CHECK-LABEL: func.func @picked
  // CHECK: dma.reads %x
  // CHECK: memref.subview %x[0, 0, 0, 0] [1, 24, 8, 8] [1, 1, 2, 2]
  // CHECK: return
  func.func @picked(%x: memref<1x24x16x16xi8, #npu.dram>, %w: memref<4x24x1x1xi8, #npu.dram>, %y: memref<1x24x8x8xi8, #npu.dram>, %z: memref<1x4x8x8xi8, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x24x16x16xi8, #npu.dram>) outs(%y : memref<1x24x8x8xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.conv2d ins(%x, %w : memref<1x24x16x16xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>) strides [2, 2]
    func.return
  }

  // Left alone: the bytes of %k may become %z, or tiles, behind the first one.
  // CHECK-LABEL: func.func @last_use
  // CHECK: dma.reads %x
  // CHECK: dma.reads %x
  // CHECK: return
  func.func @last_use(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<2x24x3x3xi8, #npu.dram>, %w: memref<4x24x1x1xi8, #npu.dram>, %y: memref<1x2x8x8xi8, #npu.dram>) {
    %k = sram.alloc : memref<2x24x3x3xi8, #npu.sram>
    %z = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    "memref.copy"(%v, %k) : (memref<2x24x3x3xi8, #npu.dram>, memref<2x24x3x3xi8, #npu.sram>) -> ()
    npu.conv2d ins(%x, %k : memref<1x24x8x8xi8, #npu.dram>, memref<2x24x3x3xi8, #npu.sram>) outs(%y : memref<1x2x8x8xi8, #npu.dram>) pads [1, 1, 1, 1]
    npu.conv2d ins(%x, %w : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%z : memref<1x4x8x8xi8, #npu.sram>)
    func.return
  }

  // Left alone: a layer stands between them.
  // CHECK-LABEL: func.func @between
  // CHECK: dma.reads %x
  // CHECK: npu.relu ins(%y
  // CHECK: dma.reads %x
  // CHECK: return
  func.func @between(%x: memref<1x24x8x8xi8, #npu.dram>) {
    %y = sram.alloc : memref<1x24x4x4xi8, #npu.sram>
    %z = sram.alloc : memref<1x24x4x4xi8, #npu.sram>
    npu.max_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.sram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%y : memref<1x24x4x4xi8, #npu.sram>) outs(%y : memref<1x24x4x4xi8, #npu.sram>)
    npu.avg_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x4x4xi8, #npu.sram>) kernel [2, 2] strides [2, 2]
    func.return
  }
}
