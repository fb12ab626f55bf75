// RUN: npu-opt %s --pass-pipeline=npu-prefetch | filecheck %s

// The first half of a buffer is stored, and a loop carries the token to the wait. So what is loaded
// beside the loop lies in the second half, which is not used any more.
// CHECK-LABEL: func.func @carried
// CHECK: npu.relu {{.*}}"second"
// CHECK-NEXT: sram.alloc at 256
// CHECK-NEXT: dma.start %w to
// CHECK-NEXT: scf.for
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 544 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000000 : i64, macs_per_cycle = {i8 = 1 : i64, f32 = 1 : i64}, sram_bytes_per_cycle = 1 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 1 : i64, dma_jump_cycles = 1 : i64}>} {
  func.func @carried(%w : memref<1x16x16xi8, #npu.dram>, %out : memref<1x16x16xi8, #npu.dram>, %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 512 : i64}) attributes {sram.arena = 544 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %all = sram.alloc at 0 : memref<2x16x16xi8, #npu.sram>
    %one = memref.subview %all[0, 0, 0] [1, 16, 16] [1, 1, 1] : memref<2x16x16xi8, #npu.sram> to memref<1x16x16xi8, strided<[256, 16, 1]>, #npu.sram>
    %two = memref.subview %all[1, 0, 0] [1, 16, 16] [1, 1, 1] : memref<2x16x16xi8, #npu.sram> to memref<1x16x16xi8, strided<[256, 16, 1], offset: 256>, #npu.sram>
    npu.relu ins(%one : memref<1x16x16xi8, strided<[256, 16, 1]>, #npu.sram>) outs(%one : memref<1x16x16xi8, strided<[256, 16, 1]>, #npu.sram>) {npu.layer = "first"}
    %s = dma.start %one to %out channel 3 : memref<1x16x16xi8, strided<[256, 16, 1]>, #npu.sram> to memref<1x16x16xi8, #npu.dram>
    npu.relu ins(%two : memref<1x16x16xi8, strided<[256, 16, 1], offset: 256>, #npu.sram>) outs(%two : memref<1x16x16xi8, strided<[256, 16, 1], offset: 256>, #npu.sram>) {npu.layer = "second"}
    %t = scf.for %i = %c0 to %c4 step %c1 iter_args(%u = %s) -> (!dma.token) {
      npu.relu ins(%x : memref<1x16xi8, #npu.sram>) outs(%x : memref<1x16xi8, #npu.sram>) {npu.layer = "third"}
      scf.yield %u : !dma.token
    }
    dma.wait %t
    %b = sram.alloc at 0 : memref<1x16x16xi8, #npu.sram>
    %0 = dma.start %w to %b channel 0 : memref<1x16x16xi8, #npu.dram> to memref<1x16x16xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%b : memref<1x16x16xi8, #npu.sram>) outs(%b : memref<1x16x16xi8, #npu.sram>) {npu.layer = "fifth"}
    func.return
  }
}
