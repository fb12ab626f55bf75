// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-split-lives | filecheck %s

// It rejects nothing: what does not fit in any way, `npu-spill-maps` rejects.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 256 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // Seven layers between two uses are too few.
  // CHECK-LABEL: func.func @near
  // CHECK-NOT: memref.copy
  func.func @near(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x16xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%map : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    scf.for %i = %c0 to %c64 step %c16 {
      %some = memref.subview %map[0, %i] [1, 16] [1, 1] : memref<1x64xi8, #npu.sram> to memref<1x16xi8, strided<[64, 1], offset: ?>, #npu.sram>
      npu.relu ins(%some : memref<1x16xi8, strided<[64, 1], offset: ?>, #npu.sram>) outs(%y : memref<1x16xi8, #npu.dram>)
    }
    %p = sram.alloc : memref<1x100xi8, #npu.sram>
    %q = sram.alloc : memref<1x100xi8, #npu.sram>
    %r = sram.alloc : memref<1x100xi8, #npu.sram>
    npu.relu ins(%r : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.add ins(%q, %r : memref<1x100xi8, #npu.sram>, memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    func.return
  }

  // A layer changes the map behind the layers.
  // CHECK-LABEL: func.func @changed
  // CHECK-NOT: memref.copy
  func.func @changed(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x16xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%map : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    scf.for %i = %c0 to %c64 step %c16 {
      %some = memref.subview %map[0, %i] [1, 16] [1, 1] : memref<1x64xi8, #npu.sram> to memref<1x16xi8, strided<[64, 1], offset: ?>, #npu.sram>
      npu.relu ins(%some : memref<1x16xi8, strided<[64, 1], offset: ?>, #npu.sram>) outs(%y : memref<1x16xi8, #npu.dram>)
    }
    %p = sram.alloc : memref<1x100xi8, #npu.sram>
    %q = sram.alloc : memref<1x100xi8, #npu.sram>
    %r = sram.alloc : memref<1x100xi8, #npu.sram>
    npu.relu ins(%r : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.add ins(%q, %r : memref<1x100xi8, #npu.sram>, memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%map : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    func.return
  }

  // A layer reads all of the concatenation before the part is complete, and would miss what is there.
  // CHECK-LABEL: func.func @read_before
  // CHECK-NOT: memref.copy
  func.func @read_before(%x : memref<1x64xi8, #npu.sram> {sram.input}, %z : memref<4x64xi8, #npu.dram> {dram.input}, %out : memref<5x64xi8, #npu.dram> {dram.output}) {
    %all = sram.alloc : memref<5x64xi8, #npu.sram>
    %a = memref.subview %all[0, 0] [1, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<1x64xi8, strided<[64, 1]>, #npu.sram>
    %b = memref.subview %all[1, 0] [4, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "first"}
    npu.relu ins(%all : memref<5x64xi8, #npu.sram>) outs(%out : memref<5x64xi8, #npu.dram>)
    npu.add ins(%a, %x : memref<1x64xi8, strided<[64, 1]>, #npu.sram>, memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "second"}
    npu.relu ins(%all : memref<5x64xi8, #npu.sram>) outs(%out : memref<5x64xi8, #npu.dram>)
    func.return
  }

  // Nobody reads the part but with all others.
  // CHECK-LABEL: func.func @not_read
  // CHECK-NOT: memref.copy
  func.func @not_read(%x : memref<1x64xi8, #npu.sram> {sram.input}, %z : memref<4x64xi8, #npu.dram> {dram.input}, %out : memref<5x64xi8, #npu.dram> {dram.output}) {
    %all = sram.alloc : memref<5x64xi8, #npu.sram>
    %a = memref.subview %all[0, 0] [1, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<1x64xi8, strided<[64, 1]>, #npu.sram>
    %b = memref.subview %all[1, 0] [4, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "first"}
    npu.relu ins(%z : memref<4x64xi8, #npu.dram>) outs(%b : memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>)
    npu.relu ins(%all : memref<5x64xi8, #npu.sram>) outs(%out : memref<5x64xi8, #npu.dram>)
    func.return
  }
}

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // All maps fit.
  // CHECK-LABEL: func.func @fits
  // CHECK-NOT: memref.copy
  func.func @fits(%x : memref<1x64xi8, #npu.sram> {sram.input}, %z : memref<4x64xi8, #npu.dram> {dram.input}, %out : memref<5x64xi8, #npu.dram> {dram.output}) {
    %all = sram.alloc : memref<5x64xi8, #npu.sram>
    %a = memref.subview %all[0, 0] [1, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<1x64xi8, strided<[64, 1]>, #npu.sram>
    %b = memref.subview %all[1, 0] [4, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "first"}
    npu.relu ins(%z : memref<4x64xi8, #npu.dram>) outs(%b : memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>)
    npu.add ins(%a, %x : memref<1x64xi8, strided<[64, 1]>, #npu.sram>, memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "second"}
    npu.relu ins(%all : memref<5x64xi8, #npu.sram>) outs(%out : memref<5x64xi8, #npu.dram>)
    func.return
  }
}

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 256 : i64, flash_bytes = 0 : i64}>} {
  // Nothing leaves a chip without DMA.
  // CHECK-LABEL: func.func @no_dma
  // CHECK-NOT: memref.copy
  func.func @no_dma(%x : memref<1x64xi8, #npu.sram> {sram.input}, %z : memref<4x64xi8, #npu.dram> {dram.input}, %out : memref<5x64xi8, #npu.dram> {dram.output}) {
    %all = sram.alloc : memref<5x64xi8, #npu.sram>
    %a = memref.subview %all[0, 0] [1, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<1x64xi8, strided<[64, 1]>, #npu.sram>
    %b = memref.subview %all[1, 0] [4, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "first"}
    npu.relu ins(%z : memref<4x64xi8, #npu.dram>) outs(%b : memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>)
    npu.add ins(%a, %x : memref<1x64xi8, strided<[64, 1]>, #npu.sram>, memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "second"}
    npu.relu ins(%all : memref<5x64xi8, #npu.sram>) outs(%out : memref<5x64xi8, #npu.dram>)
    func.return
  }
}
