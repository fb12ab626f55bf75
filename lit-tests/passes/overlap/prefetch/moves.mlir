// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-prefetch | filecheck %s

// It rejects nothing: what cannot be moved stays (left_alone.mlir).

// The weights of the second layer arrive while the first one computes, and its own first. Both start at once.
// CHECK-LABEL: func.func @weights
// CHECK: %a = sram.alloc at 256
// CHECK: [[A:%.*]] = dma.start weights %w1 to %a
// CHECK-NEXT: %b = sram.alloc at 512
// CHECK-NEXT: [[B:%.*]] = dma.start weights %w2 to %b
// CHECK-NEXT: dma.wait [[A]]
// CHECK-NEXT: npu.fully_connected {{.*}}"first"
// CHECK-NEXT: dma.wait [[B]]
// CHECK-NEXT: npu.fully_connected {{.*}}"second"
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @weights(%w1 : memref<16x16xi8, #npu.dram>, %w2 : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 0 : i64}) attributes {sram.arena = 768 : i64} {
    %y = sram.alloc at 32 : memref<1x16xi8, #npu.sram>
    %z = sram.alloc at 64 : memref<1x16xi8, #npu.sram>
    %a = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %0 = dma.start weights %w1 to %a channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.fully_connected ins(%x, %a : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%y : memref<1x16xi8, #npu.sram>) {npu.layer = "first"}
    %b = sram.alloc at 512 : memref<16x16xi8, #npu.sram>
    %1 = dma.start weights %w2 to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %1
    npu.fully_connected ins(%y, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%z : memref<1x16xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}

// -----

// A buffer in whose memory another one lives moves to where there is room; the arena grows.
// CHECK-LABEL: func.func @room
// CHECK-SAME: sram.arena = 768 : i64
// CHECK: sram.alloc at 512
// CHECK-NEXT: dma.start weights %w2
// CHECK: npu.fully_connected {{.*}}"first"
// CHECK: npu.fully_connected {{.*}}"second"
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @room(%w1 : memref<16x16xi8, #npu.dram>, %w2 : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 0 : i64}) attributes {sram.arena = 512 : i64} {
    %y = sram.alloc at 32 : memref<1x16xi8, #npu.sram>
    %z = sram.alloc at 64 : memref<1x16xi8, #npu.sram>
    %a = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %0 = dma.start weights %w1 to %a channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.fully_connected ins(%x, %a : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%y : memref<1x16xi8, #npu.sram>) {npu.layer = "first"}
    %b = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %1 = dma.start weights %w2 to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %1
    npu.fully_connected ins(%y, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%z : memref<1x16xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}

// -----

// A store is waited for behind the next layer. The first rows come back meanwhile, as another store
// wrote them; the last rows do not, as this store writes them.
// CHECK-LABEL: func.func @stores
// CHECK: [[S:%.*]] = dma.start %a to %{{.*}} channel 3
// CHECK: [[L:%.*]] = dma.start %{{.*}} to %b channel 1
// CHECK: npu.relu {{.*}}"between"
// CHECK: dma.wait [[S]]
// CHECK: dma.wait [[L]]
// CHECK: [[M:%.*]] = dma.start %{{.*}} to %c channel 1
// CHECK-NEXT: npu.relu ins(%b
// CHECK: dma.wait [[M]]
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @stores(%map : memref<4x64xi8, #npu.dram>) attributes {sram.arena = 512 : i64} {
    %a = sram.alloc at 0 : memref<1x64xi8, #npu.sram>
    %b = sram.alloc at 64 : memref<1x64xi8, #npu.sram>
    %c = sram.alloc at 128 : memref<1x64xi8, #npu.sram>
    %d = sram.alloc at 192 : memref<1x64xi8, #npu.sram>
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "before"}
    %last = memref.subview %map[3, 0] [1, 64] [1, 1] : memref<4x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 192>, #npu.dram>
    %0 = dma.start %a to %last channel 3 : memref<1x64xi8, #npu.sram> to memref<1x64xi8, strided<[64, 1], offset: 192>, #npu.dram>
    dma.wait %0
    npu.relu ins(%d : memref<1x64xi8, #npu.sram>) outs(%d : memref<1x64xi8, #npu.sram>) {npu.layer = "between"}
    %first = memref.subview %map[0, 0] [1, 64] [1, 1] : memref<4x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1]>, #npu.dram>
    %1 = dma.start %first to %b channel 1 : memref<1x64xi8, strided<[64, 1]>, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %1
    npu.relu ins(%b : memref<1x64xi8, #npu.sram>) outs(%b : memref<1x64xi8, #npu.sram>) {npu.layer = "of first"}
    %again = memref.subview %map[3, 0] [1, 64] [1, 1] : memref<4x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 192>, #npu.dram>
    %2 = dma.start %again to %c channel 1 : memref<1x64xi8, strided<[64, 1], offset: 192>, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %2
    npu.relu ins(%c : memref<1x64xi8, #npu.sram>) outs(%c : memref<1x64xi8, #npu.sram>) {npu.layer = "of last"}
    func.return
  }
}
