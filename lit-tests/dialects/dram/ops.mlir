// RUN: NPU_ROUNDTRIP

// CHECK-LABEL: @placed
func.func @placed() attributes {dram.bytes = 512 : i64} {
  // CHECK: %a = dram.alloc : memref<64xf32, #npu.dram>
  %a = dram.alloc : memref<64xf32, #npu.dram>
  // CHECK: %b = dram.alloc at 256 : memref<64xf32, #npu.dram>
  %b = dram.alloc at 256 : memref<64xf32, #npu.dram>
  func.return
}
