// RUN: npu-opt %s --pass-pipeline=npu-tile-loops{sharing=false} | filecheck %s
// RUN: npu-opt %s --pass-pipeline=npu-tile-loops{producers=false\ sharing=false} | filecheck %s --check-prefix=APART

// Ops run on the tiles of the layers that read their output, which then never leaves the chip.
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {i8 = 4 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 1 : i64}>} {
  // The relu computes in the place of a tile of %x.
  // CHECK-LABEL: func.func @relu
  // CHECK-NOT: dram.alloc
  // CHECK: dma.reads %x
  // CHECK: scf.for
  // CHECK: %[[t:[a-z_0-9]+]] = dma.start %{{.*}} to %[[tile:[a-z_0-9]+]] channel 1
  // CHECK-NEXT: dma.wait %[[t]]
  // CHECK-NEXT: npu.relu ins(%[[tile]] : {{.*}}) outs(%[[tile]] : {{.*}}) {npu.layer = "r", npu.runs = {{.*}}}
  // CHECK: npu.conv2d {{.*}} {npu.layer = "c", {{.*}}npu.tile
  // CHECK: return
  // APART-LABEL: func.func @relu
  // APART: dram.alloc
  // APART: npu.relu {{.*}} npu.tile
  // APART: npu.conv2d {{.*}} npu.tile
  func.func @relu(%x: memref<1x4x16x8xi8, #npu.dram>, %w: memref<4x4x1x1xi8, #npu.dram>, %z: memref<1x4x16x8xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x4x16x8xi8, #npu.dram>
    npu.relu ins(%x : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>) {npu.layer = "r"}
    npu.conv2d ins(%r, %w : memref<1x4x16x8xi8, #npu.dram>, memref<4x4x1x1xi8, #npu.dram>) outs(%z : memref<1x4x16x8xi8, #npu.dram>) {npu.layer = "c"}
    func.return
  }

  // It overwrites a map that another layer has read before, and two layers read what it computes.
  // CHECK-LABEL: func.func @in_place
  // CHECK: npu.max_pool2d
  // CHECK: npu.relu ins(%[[one:[a-z_0-9]+]] : memref<{{.*}}, #npu.sram>) outs(%[[one]] :
  // CHECK: npu.max_pool2d
  // CHECK: npu.relu ins(%[[other:[a-z_0-9]+]] : memref<{{.*}}, #npu.sram>) outs(%[[other]] :
  // CHECK: npu.avg_pool2d
  // CHECK: return
  func.func @in_place(%x: memref<1x4x16x8xi8, #npu.dram>, %p: memref<1x4x8x4xi8, #npu.dram>, %q: memref<1x4x8x4xi8, #npu.dram>, %s: memref<1x4x8x4xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x4x16x8xi8, #npu.dram>
    "memref.copy"(%x, %r) : (memref<1x4x16x8xi8, #npu.dram>, memref<1x4x16x8xi8, #npu.dram>) -> ()
    npu.max_pool2d ins(%r : memref<1x4x16x8xi8, #npu.dram>) outs(%p : memref<1x4x8x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%r : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>)
    npu.max_pool2d ins(%r : memref<1x4x16x8xi8, #npu.dram>) outs(%q : memref<1x4x8x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.avg_pool2d ins(%r : memref<1x4x16x8xi8, #npu.dram>) outs(%s : memref<1x4x8x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    func.return
  }

  // A relu, a depthwise convolution and a 1x1 convolution: one map is loaded, and one is stored. The kernels of the depthwise one
  // come first, all of them. The map that it computes has a tile.
  // CHECK-LABEL: func.func @depthwise
  // CHECK-NOT: dram.alloc
  // CHECK: %[[y:y_[a-z_0-9]+]] = sram.alloc : memref<1x{{.*}}x6x6xi8, #npu.sram>
  // CHECK: dma.start weights %k to %[[k:[a-z_0-9]+]] channel 0 {npu.layer = "d"}
  // CHECK: npu.relu ins(%[[tile:[a-z_0-9]+]] : {{.*}}) outs(%[[tile]] :
  // CHECK: npu.conv2d ins(%[[tile]], {{.*}}) outs(%[[y]] : {{.*}}) {{.*}} {npu.layer = "d"
  // CHECK: npu.conv2d ins(%[[y]], {{.*}} {npu.layer = "c"
  // CHECK: return
  func.func @depthwise(%x: memref<1x16x6x6xi8, #npu.dram>, %k: memref<16x1x3x3xi8, #npu.dram>, %w: memref<2x16x1x1xi8, #npu.dram>, %z: memref<1x2x6x6xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x16x6x6xi8, #npu.dram>
    npu.relu ins(%x : memref<1x16x6x6xi8, #npu.dram>) outs(%r : memref<1x16x6x6xi8, #npu.dram>) {npu.layer = "r"}
    %y = dram.alloc : memref<1x16x6x6xi8, #npu.dram>
    npu.conv2d ins(%r, %k : memref<1x16x6x6xi8, #npu.dram>, memref<16x1x3x3xi8, #npu.dram>) outs(%y : memref<1x16x6x6xi8, #npu.dram>) pads [1, 1, 1, 1] groups 16 {npu.layer = "d"}
    npu.conv2d ins(%y, %w : memref<1x16x6x6xi8, #npu.dram>, memref<2x16x1x1xi8, #npu.dram>) outs(%z : memref<1x2x6x6xi8, #npu.dram>) {npu.layer = "c"}
    func.return
  }

  // Left alone: %x is overwritten before the reader runs.
  // CHECK-LABEL: func.func @overwritten
  // CHECK: dram.alloc
  // CHECK: npu.relu {{.*}} npu.tile
  func.func @overwritten(%x: memref<1x4x16x8xi8, #npu.dram>, %v: memref<1x4x16x8xi8, #npu.dram>, %w: memref<4x4x1x1xi8, #npu.dram>, %z: memref<1x4x16x8xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x4x16x8xi8, #npu.dram>
    npu.relu ins(%x : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>)
    "memref.copy"(%v, %x) : (memref<1x4x16x8xi8, #npu.dram>, memref<1x4x16x8xi8, #npu.dram>) -> ()
    npu.conv2d ins(%r, %w : memref<1x4x16x8xi8, #npu.dram>, memref<4x4x1x1xi8, #npu.dram>) outs(%z : memref<1x4x16x8xi8, #npu.dram>)
    func.return
  }

  // Left alone: a copy reads the map, too.
  // CHECK-LABEL: func.func @copied
  // CHECK: dram.alloc
  // CHECK: npu.relu {{.*}} npu.tile
  func.func @copied(%x: memref<1x4x16x8xi8, #npu.dram>, %w: memref<4x4x1x1xi8, #npu.dram>, %v: memref<1x4x16x8xi8, #npu.dram>, %z: memref<1x4x16x8xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x4x16x8xi8, #npu.dram>
    npu.relu ins(%x : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>)
    npu.conv2d ins(%r, %w : memref<1x4x16x8xi8, #npu.dram>, memref<4x4x1x1xi8, #npu.dram>) outs(%z : memref<1x4x16x8xi8, #npu.dram>)
    "memref.copy"(%r, %v) : (memref<1x4x16x8xi8, #npu.dram>, memref<1x4x16x8xi8, #npu.dram>) -> ()
    func.return
  }

  // Left alone: a pool writes over the map later.
  // CHECK-LABEL: func.func @written
  // CHECK: dram.alloc
  // CHECK: npu.relu {{.*}} npu.tile
  func.func @written(%x: memref<1x4x16x8xi8, #npu.dram>, %w: memref<4x4x1x1xi8, #npu.dram>, %z: memref<1x4x16x8xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x4x16x8xi8, #npu.dram>
    npu.relu ins(%x : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>)
    npu.conv2d ins(%r, %w : memref<1x4x16x8xi8, #npu.dram>, memref<4x4x1x1xi8, #npu.dram>) outs(%z : memref<1x4x16x8xi8, #npu.dram>)
    npu.max_pool2d ins(%z : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>) kernel [1, 1]
    func.return
  }

  // Left alone: whether an element becomes zero depends on its block, which a tile of the reader may cut.
  // CHECK-LABEL: func.func @blocks
  // CHECK: dram.alloc
  // CHECK: npu.prune_zero_blocks {{.*}} npu.tile
  func.func @blocks(%x: memref<1x4x16x8xi8, #npu.dram>, %w: memref<4x4x1x1xi8, #npu.dram>, %z: memref<1x4x16x8xi8, #npu.dram>) {
    %r = dram.alloc : memref<1x4x16x8xi8, #npu.dram>
    npu.prune_zero_blocks ins(%x : memref<1x4x16x8xi8, #npu.dram>) outs(%r : memref<1x4x16x8xi8, #npu.dram>) block 4 threshold 0.2 scale 0.1 zero_point 0
    npu.conv2d ins(%r, %w : memref<1x4x16x8xi8, #npu.dram>, memref<4x4x1x1xi8, #npu.dram>) outs(%z : memref<1x4x16x8xi8, #npu.dram>)
    func.return
  }

  // Left alone: the reader of the depthwise convolution is no 1x1 convolution, but one of 3x3.
  // CHECK-LABEL: func.func @windows
  // CHECK: dram.alloc
  // CHECK: npu.conv2d {{.*}}npu.layer = "d", {{.*}}npu.tile
  func.func @windows(%x: memref<1x16x6x6xi8, #npu.dram>, %k: memref<16x1x3x3xi8, #npu.dram>, %w: memref<2x16x3x3xi8, #npu.dram>, %z: memref<1x2x4x4xi8, #npu.dram>) {
    %y = dram.alloc : memref<1x16x6x6xi8, #npu.dram>
    npu.conv2d ins(%x, %k : memref<1x16x6x6xi8, #npu.dram>, memref<16x1x3x3xi8, #npu.dram>) outs(%y : memref<1x16x6x6xi8, #npu.dram>) pads [1, 1, 1, 1] groups 16 {npu.layer = "d"}
    npu.conv2d ins(%y, %w : memref<1x16x6x6xi8, #npu.dram>, memref<2x16x3x3xi8, #npu.dram>) outs(%z : memref<1x2x4x4xi8, #npu.dram>)
    func.return
  }

  // A residual is added with the first part of the sums, and the relu comes with the last one.
  // CHECK-LABEL: func.func @residual
  // CHECK: npu.conv2d {{.*}} then add residual second {npu.layer = "a", {{.*}} order = "in"
  // CHECK: npu.conv2d {{.*}} accumulate {npu.layer = "a"
  // CHECK: npu.conv2d {{.*}} accumulate then relu {npu.layer = "a"
  func.func @residual(%x: memref<1x64x4x4xi8, #npu.dram>, %w: memref<8x64x1x1xi8, #npu.dram>, %z: memref<1x8x4x4xi8, #npu.dram>) {
    npu.conv2d ins(%x, %w, %z : memref<1x64x4x4xi8, #npu.dram>, memref<8x64x1x1xi8, #npu.dram>, memref<1x8x4x4xi8, #npu.dram>) outs(%z : memref<1x8x4x4xi8, #npu.dram>) then add residual second then relu {npu.layer = "a"}
    func.return
  }
}
