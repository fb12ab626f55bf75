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
