// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: @blocks
// GENERIC-LABEL: "blocks"
func.func @blocks(%i: index) {
  %map = dram.alloc : memref<1x2x9x9xf32, #npu.dram>
  %index = dram.alloc : memref<3xi8, #npu.dram>
  %tile = sram.alloc : memref<1x2x9x9xf32, #npu.sram>
  // CHECK: %t = dma.start %tile to %map channel 3 blocks 4 zero 0 of %map, %index : memref<1x2x9x9xf32, #npu.sram> to memref<1x2x9x9xf32, #npu.dram> of memref<1x2x9x9xf32, #npu.dram>, memref<3xi8, #npu.dram>
  // GENERIC: "dma.start"(%tile, %map, %map, %index) <{channel = 3 : i64, block = 4 : i64, zero = 0 : i64}>
  %t = dma.start %tile to %map channel 3 blocks 4 zero 0 of %map, %index : memref<1x2x9x9xf32, #npu.sram> to memref<1x2x9x9xf32, #npu.dram> of memref<1x2x9x9xf32, #npu.dram>, memref<3xi8, #npu.dram>
  dma.wait %t
  func.return
}
