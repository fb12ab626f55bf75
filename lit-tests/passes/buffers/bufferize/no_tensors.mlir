// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// Functions without tensors stay, whatever is in them.

// CHECK-LABEL: func.func @buffers(%x: memref<4xf32, #npu.sram> {sram.input}) {
// CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%x :
// CHECK-NEXT: func.call @helper(%x) : (memref<4xf32, #npu.sram>) -> ()
// CHECK-NEXT: func.return
func.func @buffers(%x: memref<4xf32, #npu.sram> {sram.input}) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>)
  func.call @helper(%x) : (memref<4xf32, #npu.sram>) -> ()
  func.return
}

// CHECK: func.func private @helper(memref<4xf32, #npu.sram>)
func.func private @helper(memref<4xf32, #npu.sram>)

// A function with tensors inside only has buffers inside.

// CHECK-LABEL: func.func @inside() {
// CHECK: sram.alloc : memref<1x4xf32, #npu.sram>
// CHECK-NEXT: npu.relu ins(
// CHECK-NOT: tensor<1x4xf32> ->
func.func @inside() {
  %c = arith.constant dense<1.0> : tensor<1x4xf32>
  %r = npu.relu %c : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return
}
