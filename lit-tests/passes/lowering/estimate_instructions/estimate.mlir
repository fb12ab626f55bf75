// RUN: npu-opt %s -p 'npu-estimate-instructions{core="cortex-m4"}' | filecheck %s

// The layer runs three times; its 3 x 16 iterations take five to nine instructions each, so do not the
// 3 or the 16 alone.

// CHECK-LABEL: func.func @net
// CHECK-SAME:  npu.instructions = [[TOTAL:[2-4][0-9][0-9]]] : i64
func.func @net(%x: memref<48xf32, #npu.sram>, %y: memref<16xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %first = arith.muli %i, %c16 : index
    %rows = memref.subview %x[%first] [16] [1] : memref<48xf32, #npu.sram> to memref<16xf32, strided<[1], offset: ?>, #npu.sram>
    // CHECK: func.call @sum
    // CHECK-SAME: npu.instructions = {{[2-4][0-9][0-9]}} : i64
    func.call @sum(%rows, %y) {npu.layer = "sum"} : (memref<16xf32, strided<[1], offset: ?>, #npu.sram>, memref<16xf32, #npu.sram>) -> ()
  }
  func.return
}

// A function that is private is no inference.
// CHECK-LABEL: func.func private @sum
// CHECK-NOT:   npu.instructions
func.func private @sum(%x: memref<16xf32, strided<[1], offset: ?>, #npu.sram>, %y: memref<16xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32, strided<[1], offset: ?>, #npu.sram>
    %b = memref.load %y[%i] : memref<16xf32, #npu.sram>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[%i] : memref<16xf32, #npu.sram>
  }
  func.return
}
