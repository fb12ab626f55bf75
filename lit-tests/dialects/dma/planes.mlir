// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// Two runs in each of 2 * 9 rows of 17 elements: 36 codes of four bits.
// CHECK-LABEL: @planes
// GENERIC-LABEL: "planes"
func.func @planes(%tile: memref<1x2x9x17xi8, #npu.sram>) {
  %map = dram.alloc : memref<1x2x9x17xi8, #npu.dram>
  %index = dram.alloc : memref<18xi8, #npu.dram>
  // CHECK: %t = dma.start %tile to %map channel 3 planes blocks 16 zero -128 of %map, %index : memref<1x2x9x17xi8, #npu.sram> to memref<1x2x9x17xi8, #npu.dram> of memref<1x2x9x17xi8, #npu.dram>, memref<18xi8, #npu.dram>
  // GENERIC: "dma.start"(%tile, %map, %map, %index) <{channel = 3 : i64, planes, block = 16 : i64, zero = -128 : i64}>
  %t = dma.start %tile to %map channel 3 planes blocks 16 zero -128 of %map, %index : memref<1x2x9x17xi8, #npu.sram> to memref<1x2x9x17xi8, #npu.dram> of memref<1x2x9x17xi8, #npu.dram>, memref<18xi8, #npu.dram>
  dma.wait %t
  func.return
}
