// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// States are no arguments, and are not copied. Another function sets them to zero.

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %x: memref<4xf32>, %arena: memref<40xi8>) {
// CHECK:         "memref.copy"(%x, %x_map)
// CHECK:         %h_map = memref.view %arena[%c16][] : memref<40xi8> to memref<4xf32>
// CHECK-NOT:     memref.copy
// CHECK:         memref.store {{%.*}}, %h_map[%i] : memref<4xf32>
// CHECK:         func.return

// CHECK-LABEL: func.func @f_reset(%arena: memref<40xi8>) {
// CHECK:         [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         [[POINT:%.*]] = arith.constant -5 : i8
// CHECK:         [[H:%.*]] = memref.view %arena[%c16][] : memref<40xi8> to memref<4xf32>
// CHECK-NEXT:    scf.for %i = %c0 to %c4 step %c1 {
// CHECK-NEXT:      memref.store [[ZERO]], [[H]][%i] : memref<4xf32>
// CHECK:         [[Q:%.*]] = memref.view %arena[%c32][] : memref<40xi8> to memref<8xi8>
// CHECK:           memref.store [[POINT]], [[Q]]
func.func @f(%x: memref<4xf32, #npu.sram> {npu.name = "x", sram.input, sram.offset = 0 : i64},
             %h: memref<4xf32, #npu.sram> {npu.name = "h", npu.state = "n", sram.input, sram.output, sram.offset = 16 : i64},
             %q: memref<8xi8, #npu.sram> {npu.name = "q", npu.state = "p", npu.zero_point = -5 : i64, sram.input, sram.output, sram.offset = 32 : i64})
    attributes {sram.arena = 40 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32, #npu.sram>
    memref.store %v, %h[%i] : memref<4xf32, #npu.sram>
  }
  func.return
}
