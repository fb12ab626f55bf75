// RUN: npu-opt %s -p 'npu-estimate-instructions{core="fe310"}' | filecheck %s
// RUN: npu-opt %s -p 'npu-estimate-instructions{core="cortex-m4"}' | filecheck %s --check-prefix=FPU

// Without an FPU, the products of a map of zeros take fewer instructions than those of other maps. The
// FPU computes all of them alike.

// CHECK:      func.call @product(%x, %y) {npu.layer = "first", npu.zeros = array<f64: 0.000000e+00>, npu.instructions = 1{{[6-9][0-9][0-9]}} : i64}
// CHECK-NEXT: func.call @product(%x, %y) {npu.layer = "second", npu.zeros = array<f64: 1.000000e+00>, npu.instructions = 1{{[2-5][0-9][0-9]}} : i64}
// FPU:        func.call @product(%x, %y) {npu.layer = "first", npu.zeros = array<f64: 0.000000e+00>, npu.instructions = [[N:[0-9]+]] : i64}
// FPU-NEXT:   func.call @product(%x, %y) {npu.layer = "second", npu.zeros = array<f64: 1.000000e+00>, npu.instructions = [[N]] : i64}
func.func @net(%x: memref<16xf32, #npu.sram>, %y: memref<16xf32, #npu.sram>) {
  func.call @product(%x, %y) {npu.layer = "first", npu.zeros = array<f64: 0.0>} : (memref<16xf32, #npu.sram>, memref<16xf32, #npu.sram>) -> ()
  func.call @product(%x, %y) {npu.layer = "second", npu.zeros = array<f64: 1.0>} : (memref<16xf32, #npu.sram>, memref<16xf32, #npu.sram>) -> ()
  func.return
}
func.func private @product(%x: memref<16xf32, #npu.sram>, %y: memref<16xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32, #npu.sram>
    %b = memref.load %y[%i] : memref<16xf32, #npu.sram>
    %c = arith.mulf %a, %b : f32
    memref.store %c, %y[%i] : memref<16xf32, #npu.sram>
  }
  func.return
}
