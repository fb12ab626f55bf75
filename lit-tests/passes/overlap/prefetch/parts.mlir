// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-prefetch | filecheck %s

// The second half of a buffer is written by the last layer. Weights arrive there before.
// CHECK-LABEL: func.func @free_part
// CHECK-SAME: sram.arena = 544 : i64
// CHECK: %b = sram.alloc at 256
// CHECK-NEXT: dma.start weights %w to %b
// CHECK: npu.relu {{.*}}"first"
// CHECK: dma.wait
// CHECK-NEXT: npu.fully_connected {{.*}}"second"
// CHECK: npu.relu {{.*}}"third"
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 544 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @free_part(%w : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 512 : i64}) attributes {sram.arena = 544 : i64} {
    %all = sram.alloc at 0 : memref<2x16x16xi8, #npu.sram>
    %one = memref.subview %all[0, 0, 0] [1, 1, 16] [1, 1, 1] : memref<2x16x16xi8, #npu.sram> to memref<1x16xi8, strided<[256, 1]>, #npu.sram>
    npu.relu ins(%x : memref<1x16xi8, #npu.sram>) outs(%one : memref<1x16xi8, strided<[256, 1]>, #npu.sram>) {npu.layer = "first"}
    %z = sram.alloc at 528 : memref<1x16xi8, #npu.sram>
    %b = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %0 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.fully_connected ins(%x, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%z : memref<1x16xi8, #npu.sram>) {npu.layer = "second"}
    %two = memref.subview %all[1, 0, 0] [1, 1, 16] [1, 1, 1] : memref<2x16x16xi8, #npu.sram> to memref<1x16xi8, strided<[256, 1], offset: 256>, #npu.sram>
    npu.relu ins(%z : memref<1x16xi8, #npu.sram>) outs(%two : memref<1x16xi8, strided<[256, 1], offset: 256>, #npu.sram>) {npu.layer = "third"}
    func.return
  }
}

// -----

// Here the first layer writes that half, and the next one reads it. But the first half is free.
// CHECK-LABEL: func.func @filled_part
// CHECK: npu.relu {{.*}}"first"
// CHECK-NEXT: %b = sram.alloc at 0 :
// CHECK-NEXT: dma.start weights %w to %b
// CHECK-NEXT: npu.relu {{.*}}"third"
// CHECK: dma.wait
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 544 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @filled_part(%w : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 512 : i64}) attributes {sram.arena = 544 : i64} {
    %all = sram.alloc at 0 : memref<2x16x16xi8, #npu.sram>
    %two = memref.subview %all[1, 0, 0] [1, 1, 16] [1, 1, 1] : memref<2x16x16xi8, #npu.sram> to memref<1x16xi8, strided<[256, 1], offset: 256>, #npu.sram>
    npu.relu ins(%x : memref<1x16xi8, #npu.sram>) outs(%two : memref<1x16xi8, strided<[256, 1], offset: 256>, #npu.sram>) {npu.layer = "first"}
    npu.relu ins(%two : memref<1x16xi8, strided<[256, 1], offset: 256>, #npu.sram>) outs(%x : memref<1x16xi8, #npu.sram>) {npu.layer = "third"}
    %z = sram.alloc at 528 : memref<1x16xi8, #npu.sram>
    %b = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %0 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.fully_connected ins(%x, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%z : memref<1x16xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}
