// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// RUN: npu-opt %s -p "npu-to-upstream{transfers=memref sram-space=1}" | filecheck %s --check-prefix=MEMREF
// UPSTREAM: npu-to-upstream
// UPSTREAM: npu-to-upstream{sram-space=1 dram-space=2}
// UPSTREAM: npu-to-upstream{transfers=memref sram-space=1}

// CHECK-LABEL: func.func @net(
// CHECK:         %rows = memref.subview
// CHECK-NEXT:    [[FROM:%.*]] = "memref.cast"(%rows)
// CHECK-SAME:      -> memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
// CHECK-NEXT:    [[TO:%.*]] = "memref.cast"(%tile)
// CHECK-SAME:      -> memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
// CHECK-NEXT:    [[TOKEN:%.*]] = func.call @npu_transfer_read_3d_f32(%cst, [[FROM]], [[TO]])
// CHECK:         func.call @npu_transfer_weights_1d_f32(
// CHECK:         func.call @npu_transfer_wait([[TOKEN]]) : (i32) -> ()
// CHECK:         func.call @npu_transfer_wait(
// CHECK:         func.call @npu_transfer_write_3d_f32(
// CHECK:         func.call @npu_transfer_wait(
// CHECK-NOT:     dma.
// CHECK:         func.func private @npu_transfer_read_3d_f32(i32, memref<?x?x?xf32
// CHECK:         func.func private @npu_transfer_wait(i32) -> ()
// CHECK:         func.func private @npu_transfer_weights_1d_f32(
// CHECK:         func.func private @npu_transfer_write_3d_f32(

// A run of memory is one transfer: rows of 16 elements, in planes.
// MEMREF-LABEL: func.func @net(
// MEMREF:         %tag = memref.alloca() {{.*}}: memref<3xi32>
// MEMREF:         scf.for %i = %c0{{.*}} to %c3{{.*}} step
// MEMREF-NEXT:      "memref.dma_start"(%rows, %i, {{%c0.*}}, {{%c0.*}}, %tile, %i, {{%c0.*}}, {{%c0.*}}, {{%c16.*}}, %tag, %i)
// MEMREF:         "memref.dma_start"(%bias
// MEMREF:         scf.for %i_1
// MEMREF-NEXT:      "memref.dma_wait"(%tag, %i_1, {{%c16.*}})
// MEMREF-NOT:     func.func private
func.func @net(%x: memref<3x8x8xf32, #npu.dram> {dram.input}, %bias: memref<4xf32, #npu.dram>, %y: index) attributes {sram.arena = 256 : i64} {
  %tile = sram.alloc at 0 : memref<3x2x8xf32, #npu.sram>
  %kept = sram.alloc at 192 : memref<4xf32, #npu.sram>
  %rows = memref.subview %x[0, %y, 0] [3, 2, 8] [1, 1, 1] : memref<3x8x8xf32, #npu.dram> to memref<3x2x8xf32, strided<[64, 8, 1], offset: ?>, #npu.dram>
  dma.reads %x : memref<3x8x8xf32, #npu.dram>
  %t = dma.start %rows to %tile channel 1 {npu.layer = "l"} : memref<3x2x8xf32, strided<[64, 8, 1], offset: ?>, #npu.dram> to memref<3x2x8xf32, #npu.sram>
  %u = dma.start weights %bias to %kept channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  dma.wait %t
  dma.wait %u
  dma.writes %x : memref<3x8x8xf32, #npu.dram>
  %v = dma.start %tile to %rows channel 3 : memref<3x2x8xf32, #npu.sram> to memref<3x2x8xf32, strided<[64, 8, 1], offset: ?>, #npu.dram>
  dma.wait %v
  func.return
}
