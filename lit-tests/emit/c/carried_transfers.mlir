// RUN: npu-opt %s -t c | filecheck %s

// A loop carries the token of a transfer in a variable.

// CHECK: const npu_dma_token t = npu_dma_start(dma, 0, NPU_DMA_READ, y_map, x, &net_run_of_32);
// CHECK-NEXT: npu_dma_token last = t;
// CHECK-NEXT: for (int i = 0; i < 3; ++i) {
// CHECK: const npu_dma_token v = npu_dma_start(dma, 1, NPU_DMA_READ,
// CHECK: npu_dma_wait(dma, last);
// CHECK-NEXT: if (npu_dma_result(dma) != 0) {
// CHECK: last = v;
// CHECK-NEXT: }
// CHECK-NEXT: npu_dma_wait(dma, last);
func.func @net(%x: memref<4x8xf32, #npu.dram> {dram.input}, %y: memref<4x8xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 128 : i64, dram.bytes = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %from = memref.subview %x[0, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.dram> to memref<1x8xf32, strided<[8, 1]>, #npu.dram>
  %a = memref.subview %y[0, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.sram> to memref<1x8xf32, strided<[8, 1]>, #npu.sram>
  %t = dma.start %from to %a channel 0 : memref<1x8xf32, strided<[8, 1]>, #npu.dram> to memref<1x8xf32, strided<[8, 1]>, #npu.sram>
  %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %t) -> (!dma.token) {
    %next = arith.addi %i, %c1 : index
    %row = memref.subview %x[%next, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.dram> to memref<1x8xf32, strided<[8, 1], offset: ?>, #npu.dram>
    %b = memref.subview %y[%next, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.sram> to memref<1x8xf32, strided<[8, 1], offset: ?>, #npu.sram>
    %v = dma.start %row to %b channel 1 : memref<1x8xf32, strided<[8, 1], offset: ?>, #npu.dram> to memref<1x8xf32, strided<[8, 1], offset: ?>, #npu.sram>
    dma.wait %u
    scf.yield %v : !dma.token
  }
  dma.wait %last
  func.return
}
