// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-bufferize | filecheck %s
// UPSTREAM: npu-bufferize,npu-assign-sram-offsets,npu-lower-to-loops,npu-to-upstream

// Ops of linalg get buffers as layers do. A result starts from the tensor behind `outs`: in its buffer, if it dies there,
// or else in a copy. A tensor.empty has no buffer.

// CHECK-LABEL: func.func @network(
// CHECK-SAME: %x: memref<1x16xf32, #npu.sram> {sram.input}, %output: memref<1x8xf32, #npu.sram> {sram.output}) {
// CHECK: %b = memref.get_global @b
// CHECK: %unused = sram.alloc : memref<1x16xf32, #npu.sram>
// CHECK-NEXT: linalg.fill ins(%zero : f32) outs(%unused :
// CHECK-NEXT: linalg.add ins(%x, %x {{.*}} outs(%x :
// CHECK-NEXT: "memref.copy"(%b, %output)
// CHECK-NEXT: linalg.matmul ins(%x, %w : {{.*}} outs(%output : memref<1x8xf32, #npu.sram>)
// CHECK-NEXT: func.return
func.func @network(%x: tensor<1x16xf32>) -> tensor<1x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.5> : tensor<16x8xf32>
  %b = arith.constant dense<1.0> : tensor<1x8xf32>
  %e = tensor.empty() : tensor<1x16xf32>
  %unused = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %double = linalg.add ins(%x, %x : tensor<1x16xf32>, tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %y = linalg.matmul ins(%double, %w : tensor<1x16xf32>, tensor<16x8xf32>) outs(%b : tensor<1x8xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// -----

// A sum starts in the buffer of what it adds to, unless that is read later.

// CHECK-LABEL: func.func @sums
// CHECK: linalg.matmul ins(%x, %x : {{.*}} outs(%s :
// CHECK-NEXT: "memref.copy"(%t, %output)
// CHECK-NEXT: linalg.matmul ins(%x, %x : {{.*}} outs(%output :
// CHECK-NEXT: npu.add ins(%s, %output : {{.*}} outs(%output :
func.func @sums(%x: tensor<4x4xf32>, %s: tensor<4x4xf32>, %t: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%s : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%t : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = npu.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = npu.add %2, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A matrix product may not overwrite what it multiplies. A tensor.empty that somebody reads has a buffer.

// CHECK-LABEL: func.func @product
// CHECK: %e = sram.alloc : memref<4x4xf32, #npu.sram>
// CHECK-NEXT: npu.relu ins(%e : {{.*}} outs(%output_1 :
// CHECK-NEXT: linalg.matmul ins(%x, %x : {{.*}} outs(%output :
func.func @product(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = npu.relu %e : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1, %0 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Sums over dimensions, and maps that are repeated along new ones.

// CHECK-LABEL: func.func @dimensions
// CHECK: linalg.reduce ins(%x:memref<4x3xf32, #npu.sram>) outs(%s:memref<4xf32, #npu.sram>) dimensions = [1]
// CHECK: linalg.broadcast ins(%s:memref<4xf32, #npu.sram>) outs(%output:memref<4x3xf32, #npu.sram>) dimensions = [1]
func.func @dimensions(%x: tensor<4x3xf32>, %s: tensor<4xf32>) -> tensor<4x3xf32> {
  %e = tensor.empty() : tensor<4x3xf32>
  %y = linalg.reduce ins(%x:tensor<4x3xf32>) outs(%s:tensor<4xf32>) dimensions = [1]
  (%in: f32, %acc: f32) {
    %0 = arith.addf %in, %acc : f32
    linalg.yield %0 : f32
  }
  %z = linalg.broadcast ins(%y:tensor<4xf32>) outs(%e:tensor<4x3xf32>) dimensions = [1]
  func.return %z : tensor<4x3xf32>
}
