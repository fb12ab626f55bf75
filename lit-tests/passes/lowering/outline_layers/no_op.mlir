// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-outline-layers)' | filecheck %s

// Layers on tensors are values; there is no call that could take their place in the arena.
// CHECK-LABEL: func.func @tensors
// CHECK-NEXT: npu.relu %x
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// What this pass made, and what other dialects do.
// CHECK-LABEL: func.func private @done
// CHECK-NEXT: npu.relu ins
func.func private @done(%x: memref<4xf32>) attributes {npu.what = "npu.relu"} {
  npu.relu ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}

// CHECK-LABEL: func.func @others
// CHECK-NEXT: "test.op"(%x)
// CHECK: func.func private @declaration(memref<4xf32>) -> ()
// CHECK-NOT: func.func
func.func @others(%x: memref<4xf32>) {
  "test.op"(%x) : (memref<4xf32>) -> ()
  func.return
}
func.func private @declaration(memref<4xf32>) -> ()
