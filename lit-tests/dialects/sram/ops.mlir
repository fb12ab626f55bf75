// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: @placed
// GENERIC-LABEL: "placed"
func.func @placed() attributes {sram.arena = 512 : i64} {
  // CHECK: %a = sram.alloc : memref<64xf32, #npu.sram>
  // GENERIC: %a = "sram.alloc"() : () -> memref<64xf32, #npu.sram>
  %a = sram.alloc : memref<64xf32, #npu.sram>
  // CHECK: %b = sram.alloc at 256 {pin = "dma"} : memref<64xf32, #npu.sram>
  // GENERIC: %b = "sram.alloc"() <{offset = 256 : i64}> {pin = "dma"} : () -> memref<64xf32, #npu.sram>
  %b = sram.alloc at 256 {pin = "dma"} : memref<64xf32, #npu.sram>
  func.return
}

// CHECK-LABEL: @span
// GENERIC-LABEL: "span"
func.func @span(%map : memref<1x4x5x8xi8, #npu.sram>, %first : index) {
  // Rows of a map with its channels last lie side by side; those of two planes do not.
  // CHECK: %bytes = sram.span %last : memref<1x4x2x8xi8, strided<[160, 1, 32, 4], offset: ?>, #npu.sram> to memref<64xi8, #npu.sram>
  // GENERIC: "sram.span"(%last)
  %last = memref.reinterpret_cast %map to offset: [%first], sizes: [1, 4, 2, 8], strides: [160, 1, 32, 4] : memref<1x4x5x8xi8, #npu.sram> to memref<1x4x2x8xi8, strided<[160, 1, 32, 4], offset: ?>, #npu.sram>
  %bytes = sram.span %last : memref<1x4x2x8xi8, strided<[160, 1, 32, 4], offset: ?>, #npu.sram> to memref<64xi8, #npu.sram>
  // CHECK: sram.span %rows : memref<1x4x2x8xi8, strided<[160, 40, 8, 1], offset: ?>, #npu.sram> to memref<136xi8, #npu.sram>
  // GENERIC: "sram.span"(%rows)
  %rows = memref.subview %map[0, 0, %first, 0] [1, 4, 2, 8] [1, 1, 1, 1] : memref<1x4x5x8xi8, #npu.sram> to memref<1x4x2x8xi8, strided<[160, 40, 8, 1], offset: ?>, #npu.sram>
  %all = sram.span %rows : memref<1x4x2x8xi8, strided<[160, 40, 8, 1], offset: ?>, #npu.sram> to memref<136xi8, #npu.sram>
  func.return
}
