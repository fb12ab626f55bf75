// RUN: npu-opt %s --pass-pipeline=npu-prefetch | filecheck %s

// The memory of an argument is in use to the end, as it may be a state: no weights arrive there, though only
// the first layer reads it. So they wait for the layer whose map lies where they go.
// CHECK-LABEL: func.func @state
// CHECK: npu.relu {{.*}}"second"
// CHECK: npu.relu {{.*}}"third"
// CHECK-NEXT: %b = sram.alloc at 0 :
// CHECK-NEXT: dma.start weights %w to %b
// CHECK-NEXT: dma.wait
// CHECK-NEXT: npu.fully_connected {{.*}}"fourth"
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 544 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @state(%w : memref<16x16xi8, #npu.dram>, %x : memref<16x16xi8, #npu.sram> {sram.input, sram.offset = 256 : i64}) attributes {sram.arena = 544 : i64} {
    %y = sram.alloc at 512 : memref<1x16xi8, #npu.sram>
    %z = sram.alloc at 528 : memref<1x16xi8, #npu.sram>
    %row = memref.subview %x[0, 0] [1, 16] [1, 1] : memref<16x16xi8, #npu.sram> to memref<1x16xi8, strided<[16, 1]>, #npu.sram>
    npu.relu ins(%row : memref<1x16xi8, strided<[16, 1]>, #npu.sram>) outs(%y : memref<1x16xi8, #npu.sram>) {npu.layer = "first"}
    %c = sram.alloc at 0 : memref<16x16xi8, #npu.sram>
    npu.relu ins(%c : memref<16x16xi8, #npu.sram>) outs(%c : memref<16x16xi8, #npu.sram>) {npu.layer = "second"}
    npu.relu ins(%c : memref<16x16xi8, #npu.sram>) outs(%c : memref<16x16xi8, #npu.sram>) {npu.layer = "third"}
    %b = sram.alloc at 0 : memref<16x16xi8, #npu.sram>
    %0 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram> to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.fully_connected ins(%y, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>) outs(%z : memref<1x16xi8, #npu.sram>) {npu.layer = "fourth"}
    func.return
  }
}
