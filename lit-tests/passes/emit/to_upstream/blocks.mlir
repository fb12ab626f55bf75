// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// A transfer in blocks also gets the map, its index, the size of a block, and what zero is.
// CHECK-LABEL: func.func @net(
// CHECK:         func.call @npu_transfer_read_blocks_4d_i8(%cst, {{%.*, %.*, %.*, %.*}}, %cst_1, %cst_2)
// CHECK-SAME:      memref<?xi8, strided<[?], offset: ?>>, i32, i32) -> i32
func.func @net(%x: memref<1x1x8x8xi8, #npu.dram> {dram.input}, %index: memref<1xi8, #npu.sram>) attributes {sram.arena = 64 : i64} {
  %tile = sram.alloc at 0 : memref<1x1x8x8xi8, #npu.sram>
  %t = dma.start %x to %tile channel 1 blocks 4 zero 3 of %x, %index : memref<1x1x8x8xi8, #npu.dram> to memref<1x1x8x8xi8, #npu.sram> of memref<1x1x8x8xi8, #npu.dram>, memref<1xi8, #npu.sram>
  dma.wait %t
  func.return
}

// The same for bit planes.
// CHECK-LABEL: func.func @planes(
// CHECK:         func.call @npu_transfer_read_planes_4d_i8(
// CHECK-SAME:      memref<?xi8, strided<[?], offset: ?>>, i32, i32) -> i32
func.func @planes(%x: memref<1x1x8x8xi8, #npu.dram> {dram.input}, %index: memref<4xi8, #npu.sram>) attributes {sram.arena = 64 : i64} {
  %tile = sram.alloc at 0 : memref<1x1x8x8xi8, #npu.sram>
  %t = dma.start %x to %tile channel 1 planes blocks 16 zero -128 of %x, %index : memref<1x1x8x8xi8, #npu.dram> to memref<1x1x8x8xi8, #npu.sram> of memref<1x1x8x8xi8, #npu.dram>, memref<4xi8, #npu.sram>
  dma.wait %t
  func.return
}
