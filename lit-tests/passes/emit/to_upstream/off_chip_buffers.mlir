// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// Buffers off the chip are views of a second argument. Ports off the chip stay where the caller has
// them. Of a map with gaps all bytes are a view.

// CHECK-LABEL: func.func @net(
// CHECK-SAME:    %x: memref<8xi8>, %arena: memref<16xi8>, %dram: memref<64xi8>) {
// CHECK:         %map = memref.view %dram[%c16][] : memref<64xi8> to memref<2x4xi8>
// CHECK-NEXT:    [[BYTES:%.*]] = memref.view %dram[%c32][] : memref<64xi8> to memref<16xi8>
// CHECK-NEXT:    %gaps = memref.reinterpret_cast [[BYTES]] to offset: [0], sizes: [2, 4], strides: [8, 1]
// CHECK-NEXT:    %tile = memref.view %arena[%c8][]
func.func @net(%x: memref<8xi8, #npu.dram> {dram.input})
    attributes {sram.arena = 16 : i64, dram.bytes = 64 : i64} {
  %map = dram.alloc at 16 : memref<2x4xi8, #npu.dram>
  %gaps = dram.alloc at 32 : memref<2x4xi8, strided<[8, 1]>, #npu.dram>
  %tile = sram.alloc at 8 : memref<2x4xi8, #npu.sram>
  func.return
}
