// RUN: npu-opt %s --pass-pipeline=npu-prefetch | filecheck %s

// A load may start in front of a loop whose addresses need a division: one step of it does not hide the load, all do.
// CHECK-LABEL: func.func @loop
// CHECK: [[T:%.*]] = dma.start weights %w to %a
// CHECK: scf.for
// CHECK: npu.fully_connected {{.*}}"first"
// CHECK-NEXT: }
// CHECK-NEXT: dma.wait [[T]]
// CHECK-NEXT: npu.fully_connected
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {i8 = 1 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64}>} {
  func.func @loop(%w : memref<16x16xi8, #npu.dram>, %v : memref<16x16xi8, #npu.sram> {sram.input, sram.offset = 1024 : i64}, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 0 : i64}) attributes {sram.arena = 1280 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %y = sram.alloc at 32 : memref<2x16xi8, #npu.sram>
    %z = sram.alloc at 64 : memref<1x16xi8, #npu.sram>
    scf.for %i = %c0 to %c4 step %c1 {
      %half = arith.remui %i, %c2 : index
      %part = memref.subview %y[%half, 0] [1, 16] [1, 1] : memref<2x16xi8, #npu.sram> to memref<1x16xi8, strided<[16, 1], offset: ?>, #npu.sram>
      npu.fully_connected ins(%x, %v : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%part : memref<1x16xi8, strided<[16, 1], offset: ?>, #npu.sram>) {npu.layer = "first"}
    }
    %a = sram.alloc at 256 : memref<16x16xi8, #npu.sram>
    %0 = dma.start weights %w to %a channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.fully_connected ins(%x, %a : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%z : memref<1x16xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}
