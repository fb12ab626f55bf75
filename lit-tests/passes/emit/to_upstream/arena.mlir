// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// Buffers with offsets become views of one argument. Ports are copied unless the caller's pointer is
// their place in the arena. @layer allocates, and so does what calls it.

// CHECK-LABEL: func.func @net(
// CHECK-SAME:    %x: memref<8xf32>, %y: memref<4xf32>, %arena: memref<96xi8>) {
// CHECK:         [[INPUT:%c64.*]] = arith.constant 64 : index
// CHECK:         %x_map = memref.view %arena[[[INPUT]]][] : memref<96xi8> to memref<8xf32>
// CHECK-NEXT:    [[CALLER:%.*]] = "memref.extract_aligned_pointer_as_index"(%x)
// CHECK-NEXT:    [[PLACE:%.*]] = "memref.extract_aligned_pointer_as_index"(%x_map)
// CHECK-NEXT:    %elsewhere = arith.cmpi ne, [[CALLER]], [[PLACE]] : index
// CHECK-NEXT:    scf.if %elsewhere {
// CHECK-NEXT:      "memref.copy"(%x, %x_map)
// CHECK-NEXT:    }
// CHECK:         %y_map = memref.view %arena[%c0][]
// CHECK:         %elsewhere_1 = arith.cmpi ne
// CHECK:         [[BYTES:%.*]] = memref.view %arena[%c32][] : memref<96xi8> to memref<8xf32>
// CHECK-NEXT:    %turned = memref.reinterpret_cast [[BYTES]] to offset: [0], sizes: [2, 4], strides: [1, 2]
// CHECK-SAME:      : memref<8xf32> to memref<2x4xf32, strided<[1, 2]>>
// CHECK-NEXT:    func.call @between(%x_map, %turned, %y_map, %arena)
// CHECK-NEXT:    scf.if %elsewhere_1 {
// CHECK-NEXT:      "memref.copy"(%y_map, %y)
func.func @net(%x: memref<8xf32, #npu.sram> {npu.name = "x", sram.input, sram.offset = 64 : i64},
    %y: memref<4xf32, #npu.sram> {sram.output, sram.offset = 0 : i64})
    attributes {sram.arena = 96 : i64} {
  %turned = sram.alloc at 32 : memref<2x4xf32, strided<[1, 2]>, #npu.sram>
  func.call @between(%x, %turned, %y) {npu.layer = "l"} : (memref<8xf32, #npu.sram>,
    memref<2x4xf32, strided<[1, 2]>, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @between(
// CHECK-SAME:    %ofm: memref<4xf32>, %arena: memref<96xi8>) {
// CHECK-NEXT:    func.call @layer(%ifm, %turned, %ofm, %arena)
func.func private @between(%ifm: memref<8xf32, #npu.sram>,
    %turned: memref<2x4xf32, strided<[1, 2]>, #npu.sram>, %ofm: memref<4xf32, #npu.sram>) {
  func.call @layer(%ifm, %turned, %ofm) : (memref<8xf32, #npu.sram>,
    memref<2x4xf32, strided<[1, 2]>, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME:    %ofm: memref<4xf32>, %arena: memref<96xi8>) {
// CHECK:         %kept = memref.view %arena[%c80][] : memref<96xi8> to memref<4xf32>
func.func private @layer(%ifm: memref<8xf32, #npu.sram>,
    %turned: memref<2x4xf32, strided<[1, 2]>, #npu.sram>, %ofm: memref<4xf32, #npu.sram>)
    attributes {npu.layer = "l"} {
  %kept = sram.alloc at 80 : memref<4xf32, #npu.sram>
  %c0 = arith.constant 0 : index
  %v = memref.load %ifm[%c0] : memref<8xf32, #npu.sram>
  memref.store %v, %kept[%c0] : memref<4xf32, #npu.sram>
  memref.store %v, %ofm[%c0] : memref<4xf32, #npu.sram>
  func.return
}

// No buffer, no arena.
// CHECK-LABEL: func.func private @without(
// CHECK-SAME:    %a: memref<4xf32>) {
func.func private @without(%a: memref<4xf32, #npu.sram>) {
  func.return
}
