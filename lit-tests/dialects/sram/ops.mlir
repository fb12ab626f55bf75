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
