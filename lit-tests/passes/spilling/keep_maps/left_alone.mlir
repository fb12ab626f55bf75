// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-keep-maps | filecheck %s

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // Nobody knows what a call between the layers does to the map.
  // CHECK-LABEL: func.func @call
  // CHECK-NOT: sram.alloc
  func.func private @g() -> ()
  func.func @call(%map : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}) {
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.call @g() : () -> ()
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.return
  }

  // Something else writes to a part of the map meanwhile.
  // CHECK-LABEL: func.func @overlap
  // CHECK-NOT: sram.alloc
  func.func @overlap(%x : memref<1x32xi8, #npu.sram> {sram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}) {
    %map = dram.alloc : memref<1x64xi8, #npu.dram>
    npu.relu ins(%y : memref<1x64xi8, #npu.sram>) outs(%map : memref<1x64xi8, #npu.dram>)
    %half = memref.subview %map[0, 16] [1, 32] [1, 1] : memref<1x64xi8, #npu.dram> to memref<1x32xi8, strided<[64, 1], offset: 16>, #npu.dram>
    npu.relu ins(%x : memref<1x32xi8, #npu.sram>) outs(%half : memref<1x32xi8, strided<[64, 1], offset: 16>, #npu.dram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.return
  }

  // So does a loop.
  // CHECK-LABEL: func.func @loop
  // CHECK-NOT: sram.alloc
  func.func @loop(%x : memref<1x8xi8, #npu.sram> {sram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %map = dram.alloc : memref<1x64xi8, #npu.dram>
    npu.relu ins(%y : memref<1x64xi8, #npu.sram>) outs(%map : memref<1x64xi8, #npu.dram>)
    scf.for %i = %c0 to %c8 step %c1 {
      %some = memref.subview %map[0, %i] [1, 8] [1, 1] : memref<1x64xi8, #npu.dram> to memref<1x8xi8, strided<[64, 1], offset: ?>, #npu.dram>
      npu.relu ins(%x : memref<1x8xi8, #npu.sram>) outs(%some : memref<1x8xi8, strided<[64, 1], offset: ?>, #npu.dram>)
    }
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.return
  }

  // A layer that changes the map in place brings it on chip by itself, or `npu-keep-parts` does.
  // CHECK-LABEL: func.func @in_place
  // CHECK-NOT: sram.alloc
  func.func @in_place(%x : memref<1x64xi8, #npu.sram> {sram.input}, %map : memref<1x64xi8, #npu.dram> {dram.output}) {
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%map : memref<1x64xi8, #npu.dram>)
    npu.add ins(%map, %x : memref<1x64xi8, #npu.dram>, memref<1x64xi8, #npu.sram>) outs(%map : memref<1x64xi8, #npu.dram>)
    func.return
  }

  // A layer that adds to what is there needs it where it is.
  // CHECK-LABEL: func.func @accumulate
  // CHECK-NOT: sram.alloc
  func.func @accumulate(%x : memref<1x1x8x8xf32, #npu.sram> {sram.input}, %w : memref<1x1x1x1xf32, #npu.dram>, %map : memref<1x1x8x8xf32, #npu.dram> {dram.output}) {
    npu.relu ins(%x : memref<1x1x8x8xf32, #npu.sram>) outs(%map : memref<1x1x8x8xf32, #npu.dram>)
    npu.conv2d ins(%x, %w : memref<1x1x8x8xf32, #npu.sram>, memref<1x1x1x1xf32, #npu.dram>) outs(%map : memref<1x1x8x8xf32, #npu.dram>) strides [1, 1] accumulate
    npu.relu ins(%map : memref<1x1x8x8xf32, #npu.dram>) outs(%x : memref<1x1x8x8xf32, #npu.sram>)
    func.return
  }

  // The result of a call may be the map under another name.
  // CHECK-LABEL: func.func @alias
  // CHECK-NOT: sram.alloc
  func.func private @same(memref<1x64xi8, #npu.dram>) -> memref<1x64xi8, #npu.dram>
  func.func @alias(%y : memref<1x64xi8, #npu.sram> {sram.output}) {
    %map = dram.alloc : memref<1x64xi8, #npu.dram>
    %r = func.call @same(%map) : (memref<1x64xi8, #npu.dram>) -> memref<1x64xi8, #npu.dram>
    npu.relu ins(%y : memref<1x64xi8, #npu.sram>) outs(%map : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%y : memref<1x64xi8, #npu.sram>) outs(%r : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.return
  }
}

// -----

// No room beside the tiles.
// CHECK-LABEL: func.func @no_room
// CHECK-NOT: sram.alloc
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 100 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @no_room(%map : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}) {
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.return
  }
}

// -----

// A machine without DMA reads the map where it lies.
// CHECK-LABEL: func.func @no_dma
// CHECK-NOT: sram.alloc
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 256 : i64, flash_bytes = 0 : i64}>} {
  func.func @no_dma(%map : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}) {
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    func.return
  }
}
