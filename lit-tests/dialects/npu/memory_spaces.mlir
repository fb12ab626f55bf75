// RUN: NPU_ROUNDTRIP

// CHECK-LABEL: @several
// CHECK-SAME: %x: memref<4xf32, #npu.memory<"axi">> {sram.input, sram.offset = 0 : i64}
// CHECK-SAME: attributes {sram.arenas = {dtcm = 16 : i64, axi = 32 : i64}}
func.func @several(%x: memref<4xf32, #npu.memory<"axi">> {sram.input, sram.offset = 0 : i64})
    attributes {sram.arenas = {dtcm = 16 : i64, axi = 32 : i64}} {
  // CHECK: %a = sram.alloc at 0 : memref<4xf32, #npu.memory<"dtcm">>
  %a = sram.alloc at 0 : memref<4xf32, #npu.memory<"dtcm">>
  // CHECK-NEXT: npu.relu ins(%x : memref<4xf32, #npu.memory<"axi">>) outs(%a : memref<4xf32, #npu.memory<"dtcm">>)
  npu.relu ins(%x : memref<4xf32, #npu.memory<"axi">>) outs(%a : memref<4xf32, #npu.memory<"dtcm">>)
  func.return
}
