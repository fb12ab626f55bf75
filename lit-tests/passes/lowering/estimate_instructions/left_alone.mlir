// RUN: npu-opt %s -p npu-estimate-instructions | filecheck %s

// Nobody says which core runs this.

// CHECK-LABEL: func.func @net
// CHECK-NOT:   npu.instructions
func.func @net(%x: memref<4xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%c0] : memref<4xf32, #npu.sram>
  func.return
}
