// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-prefetch | filecheck %s

// With several memories, a buffer that moves out of the way of another one stays in its memory. The
// arena of that memory grows, and the other one does not.
// CHECK-LABEL: func.func @room
// CHECK-SAME: sram.arenas = {tcm = 96 : i64, axi = 768 : i64}
// CHECK: sram.alloc at 512 : memref<16x16xi8, #npu.memory<"axi">>
// CHECK-NEXT: dma.start weights %w2
// CHECK: npu.fully_connected {{.*}}"first"
// CHECK: npu.fully_connected {{.*}}"second"
builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, dma_channels = 4 : i64, memory = [
    {name = "tcm", bytes = 4096 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "axi", bytes = 768 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @room(%w1 : memref<16x16xi8, #npu.dram>, %w2 : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.memory<"tcm">> {sram.input, sram.offset = 0 : i64}, %t : memref<256xi8, #npu.memory<"axi">> {sram.input, sram.offset = 0 : i64}) attributes {sram.arenas = {tcm = 96 : i64, axi = 512 : i64}} {
    %y = sram.alloc at 32 : memref<1x16xi8, #npu.memory<"tcm">>
    %z = sram.alloc at 64 : memref<1x16xi8, #npu.memory<"tcm">>
    %a = sram.alloc at 256 : memref<16x16xi8, #npu.memory<"axi">>
    %0 = dma.start weights %w1 to %a channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.memory<"axi">>
    dma.wait %0
    npu.fully_connected ins(%x, %a : memref<1x16xi8, #npu.memory<"tcm">>, memref<16x16xi8, #npu.memory<"axi">>) outs(%y : memref<1x16xi8, #npu.memory<"tcm">>) {npu.layer = "first"}
    %b = sram.alloc at 256 : memref<16x16xi8, #npu.memory<"axi">>
    %1 = dma.start weights %w2 to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.memory<"axi">>
    dma.wait %1
    npu.fully_connected ins(%y, %b : memref<1x16xi8, #npu.memory<"tcm">>, memref<16x16xi8, #npu.memory<"axi">>) outs(%z : memref<1x16xi8, #npu.memory<"tcm">>) {npu.layer = "second"}
    func.return
  }
}

// -----

// The other memory has room, but the one of the buffer has none: the load stays.
// CHECK-LABEL: func.func @full
// CHECK: npu.fully_connected {{.*}}"first"
// CHECK: dma.start weights %w2
// CHECK: npu.fully_connected {{.*}}"second"
builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, dma_channels = 4 : i64, memory = [
    {name = "tcm", bytes = 4096 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "axi", bytes = 256 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @full(%w1 : memref<16x16xi8, #npu.dram>, %w2 : memref<16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.memory<"tcm">> {sram.input, sram.offset = 0 : i64}) attributes {sram.arenas = {tcm = 96 : i64, axi = 256 : i64}} {
    %y = sram.alloc at 32 : memref<1x16xi8, #npu.memory<"tcm">>
    %z = sram.alloc at 64 : memref<1x16xi8, #npu.memory<"tcm">>
    %a = sram.alloc at 0 : memref<16x16xi8, #npu.memory<"axi">>
    %0 = dma.start weights %w1 to %a channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.memory<"axi">>
    dma.wait %0
    npu.fully_connected ins(%x, %a : memref<1x16xi8, #npu.memory<"tcm">>, memref<16x16xi8, #npu.memory<"axi">>) outs(%y : memref<1x16xi8, #npu.memory<"tcm">>) {npu.layer = "first"}
    %b = sram.alloc at 0 : memref<16x16xi8, #npu.memory<"axi">>
    %1 = dma.start weights %w2 to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.memory<"axi">>
    dma.wait %1
    npu.fully_connected ins(%y, %b : memref<1x16xi8, #npu.memory<"tcm">>, memref<16x16xi8, #npu.memory<"axi">>) outs(%z : memref<1x16xi8, #npu.memory<"tcm">>) {npu.layer = "second"}
    func.return
  }
}
