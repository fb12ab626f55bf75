// RUN: npu-opt %s -p npu-fuse-activations | filecheck %s

// The value is the last layer's; activations in a row are one.
// CHECK-LABEL: func.func @relu
// CHECK-NEXT: %r = npu.add %x, %y then relu {npu.layer = "s", npu.value = "r_out"} :
// CHECK-NEXT: func.return %r
func.func @relu(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %s = npu.add %x, %y {npu.layer = "s", npu.value = "s_out"} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = npu.relu %s {npu.layer = "r", npu.value = "r_out"} : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %r : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @clamps
// CHECK-NEXT: npu.add %x, %k then clamp [0.0, 6.0] : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return
func.func @clamps(%x: tensor<1x2x4x4xf32>, %k: tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %s = npu.add %x, %k then relu : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %c = npu.clamp %s low -1.0 high 6.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %c : tensor<1x2x4x4xf32>
}

// The sum is needed elsewhere.
// CHECK-LABEL: func.func @second_use
// CHECK-NEXT: %s = npu.add %x, %x :
// CHECK-NEXT: %r = npu.relu %s
// CHECK-NEXT: func.return %s, %r
func.func @second_use(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = npu.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = npu.relu %s : tensor<4xf32> -> tensor<4xf32>
  func.return %s, %r : tensor<4xf32>, tensor<4xf32>
}

// Products are no additions, and buffers are written already.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT: %p = npu.mul %x, %x :
// CHECK-NEXT: npu.relu %p
// CHECK-NEXT: npu.add ins(%m, %m : {{.*}}) outs(%m : memref<4xf32>)
// CHECK-NEXT: npu.relu ins(%m
func.func @left_alone(%x: tensor<4xf32>, %m: memref<4xf32>) -> tensor<4xf32> {
  %p = npu.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = npu.relu %p : tensor<4xf32> -> tensor<4xf32>
  npu.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  npu.relu ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  func.return %r : tensor<4xf32>
}
