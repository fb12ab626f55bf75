// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: @transfers
// GENERIC-LABEL: "transfers"
func.func @transfers(%far: memref<8x4xf32, #npu.dram>, %w: memref<8x4xf32, #npu.dram>) {
  %near = sram.alloc : memref<8x4xf32, #npu.sram>
  // CHECK: dma.reads %far : memref<8x4xf32, #npu.dram>
  dma.reads %far : memref<8x4xf32, #npu.dram>
  // CHECK: %t = dma.start %far to %near channel 0 : memref<8x4xf32, #npu.dram> to memref<8x4xf32, #npu.sram>
  // GENERIC: %t = "dma.start"(%far, %near) <{channel = 0 : i64}> : (memref<8x4xf32, #npu.dram>, memref<8x4xf32, #npu.sram>) -> !dma.token
  %t = dma.start %far to %near channel 0 : memref<8x4xf32, #npu.dram> to memref<8x4xf32, #npu.sram>
  // CHECK: dma.wait %t
  dma.wait %t
  // CHECK: %u = dma.start weights %w to %near channel 1 {note = "kernels"} :
  // GENERIC: <{{{.*}}weights{{.*}}}> {note = "kernels"}
  %u = dma.start weights %w to %near channel 1 {note = "kernels"} : memref<8x4xf32, #npu.dram> to memref<8x4xf32, #npu.sram>
  dma.wait %u
  // CHECK: dma.work 900
  // GENERIC: "dma.work"() <{cycles = 900 : i64}> : () -> ()
  dma.work 900
  // CHECK: dma.writes %far : memref<8x4xf32, #npu.dram>
  dma.writes %far : memref<8x4xf32, #npu.dram>
  // CHECK: dma.start %near to %far channel 2
  %v = dma.start %near to %far channel 2 : memref<8x4xf32, #npu.sram> to memref<8x4xf32, #npu.dram>
  dma.wait %v
  func.return
}

// CHECK-LABEL: @strided
func.func @strided(%far: memref<8x4xf32, #npu.dram>, %near: memref<2x4xf32, strided<[5, 1]>, #npu.sram>, %i: index) {
  %rows = memref.subview %far[%i, 0] [2, 4] [1, 1] : memref<8x4xf32, #npu.dram> to memref<2x4xf32, strided<[4, 1], offset: ?>, #npu.dram>
  // CHECK: dma.start %rows to %near channel 0 : memref<2x4xf32, strided<[4, 1], offset: ?>, #npu.dram> to memref<2x4xf32, strided<[5, 1]>, #npu.sram>
  %t = dma.start %rows to %near channel 0 : memref<2x4xf32, strided<[4, 1], offset: ?>, #npu.dram> to memref<2x4xf32, strided<[5, 1]>, #npu.sram>
  dma.wait %t
  func.return
}
