// RUN: npu-opt %s -t c | filecheck %s

// A tile of each image row block goes on chip, a layer works on it, and the result goes back.

// CHECK-LABEL: #define NET_ARENA_BYTES 48
// CHECK-NEXT: #define NET_DRAM_BYTES 64
// CHECK: /* image: 2x3x4 float, input */
// CHECK-NEXT: #define NET_IMAGE_ELEMENTS 24
// CHECK: int net_run(const float *image, float *scores, void *arena, void *dram, npu_dma *dma);

// CHECK: static const npu_dma_shape net_run_of_16 = {16, 0, {{[{][{]}}0, 0, 0}}};
// CHECK-NEXT: static const npu_dma_shape net_2_runs_of_16 = {16, 1, {{[{][{]}}2, 16, 48}}};
// CHECK-NEXT: static const npu_dma_shape net_2_runs_of_16_2 = {16, 1, {{[{][{]}}2, 32, 16}}};
// CHECK-NEXT: static const npu_dma_shape net_2x2_runs_of_4 = {4, 2, {{[{][{]}}2, 32, 16}, {2, 4, 8}}};

"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4xf32, #npu.dram>, initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()

// A function of its own gets what it needs, and no more.

// CHECK: static void net_load(float *NPU_RESTRICT w, npu_dma *dma)
// CHECK-NEXT: {
// CHECK-NEXT:     const npu_dma_token transfer = npu_dma_start(dma, 0, NPU_DMA_WEIGHTS, w, net_w, &net_run_of_16);
// CHECK-NEXT:     npu_dma_wait(dma, transfer);
// CHECK-NEXT:     if (npu_dma_result(dma) != 0) {
// CHECK-NEXT:         return;
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func private @load(%w: memref<4xf32, #npu.sram>) {
  %far = memref.get_global @w : memref<4xf32, #npu.dram>
  %0 = dma.start weights %far to %w channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  dma.wait %0
  func.return
}

// CHECK: unsigned char *const off_chip = (unsigned char *)dram;
// CHECK-NEXT: if (image == NULL || scores == NULL || arena == NULL || dram == NULL || dma == NULL) {
// CHECK: if ((uintptr_t)dram % 16u != 0u) {
func.func @net(%image: memref<2x3x4xf32, #npu.dram> {dram.input}, %scores: memref<2x3x4xf32, #npu.dram> {dram.output}) attributes {sram.arena = 48 : i64, dram.bytes = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %w = sram.alloc at 32 : memref<4xf32, #npu.sram>
  // A run whose engine has failed ends, and returns why.
  // CHECK: net_load(w, dma);
  // CHECK-NEXT: if (npu_dma_result(dma) != 0) {
  // CHECK-NEXT:     return npu_dma_result(dma);
  // CHECK-NEXT: }
  func.call @load(%w) : (memref<4xf32, #npu.sram>) -> ()
  // CHECK: /* 2x2x2 float, off-chip bytes 0 to 63 */
  // CHECK-NEXT: float *const map = (float *)(void *)(off_chip);
  %map = dram.alloc at 0 : memref<2x2x2xf32, strided<[8, 4, 1]>, #npu.dram>
  %tile = sram.alloc at 0 : memref<2x1x4xf32, #npu.sram>
  // CHECK-NEXT: /* 2x1x4 float, arena bytes 0 to 31 */
  // CHECK: npu_dma_reads(dma);
  dma.reads %image : memref<2x3x4xf32, #npu.dram>
  // CHECK-NEXT: npu_dma_writes(dma);
  dma.writes %map : memref<2x2x2xf32, strided<[8, 4, 1]>, #npu.dram>
  scf.for %i = %c0 to %c3 step %c1 {
    // CHECK: const float *const row = image + (i * 4);
    // CHECK-NEXT: const npu_dma_token t = npu_dma_start(dma, 1, NPU_DMA_READ, tile, row, &net_2_runs_of_16);
    // CHECK-NEXT: npu_dma_wait(dma, t);
    // CHECK-NEXT: if (npu_dma_result(dma) != 0) {
    // CHECK-NEXT:     return npu_dma_result(dma);
    // CHECK-NEXT: }
    %row = memref.subview %image[0, %i, 0] [2, 1, 4] [1, 1, 1] : memref<2x3x4xf32, #npu.dram> to memref<2x1x4xf32, strided<[12, 4, 1], offset: ?>, #npu.dram>
    %t = dma.start %row to %tile channel 1 : memref<2x1x4xf32, strided<[12, 4, 1], offset: ?>, #npu.dram> to memref<2x1x4xf32, #npu.sram>
    dma.wait %t
    // What was read before the wait is not read again behind it.
    // CHECK-NEXT: const float before = tile[0];
    // CHECK: npu_dma_start(dma, 3, NPU_DMA_WRITE, map, tile, &net_2_runs_of_16_2);
    // CHECK: tile[1] = before;
    %before = memref.load %tile[%c0, %c0, %c0] : memref<2x1x4xf32, #npu.sram>
    %rows = "memref.reinterpret_cast"(%map) <{static_offsets = array<i64: 0>, static_sizes = array<i64: 2, 1, 4>, static_strides = array<i64: 8, 4, 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (memref<2x2x2xf32, strided<[8, 4, 1]>, #npu.dram>) -> memref<2x1x4xf32, strided<[8, 4, 1]>, #npu.dram>
    %u = dma.start %tile to %rows channel 3 : memref<2x1x4xf32, #npu.sram> to memref<2x1x4xf32, strided<[8, 4, 1]>, #npu.dram>
    dma.wait %u
    memref.store %before, %tile[%c0, %c0, %c1] : memref<2x1x4xf32, #npu.sram>
    // Axes that neighbours in both buffers make one stay one.
    // CHECK: npu_dma_start(dma, 3, NPU_DMA_WRITE, map, tile, &net_2x2_runs_of_4);
    %every = memref.subview %tile[0, 0, 0] [2, 1, 2] [1, 1, 2] : memref<2x1x4xf32, #npu.sram> to memref<2x1x2xf32, strided<[4, 4, 2]>, #npu.sram>
    %pairs = memref.subview %map[0, 0, 0] [2, 1, 2] [1, 1, 1] : memref<2x2x2xf32, strided<[8, 4, 1]>, #npu.dram> to memref<2x1x2xf32, strided<[8, 4, 1]>, #npu.dram>
    %v = dma.start %every to %pairs channel 3 : memref<2x1x2xf32, strided<[4, 4, 2]>, #npu.sram> to memref<2x1x2xf32, strided<[8, 4, 1]>, #npu.dram>
    dma.wait %v
  }
  func.return
}
