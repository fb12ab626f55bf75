// RUN: npu-opt %s -p npu-transpose-in-place > "%t.after"
// RUN: npu-opt %s | diff - "%t.after"
// RUN: filecheck %s --input-file "%t.after"

// The elements of a row would lie apart.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: memref<5x3xf32, #npu.sram>, %w: memref<5x4xf32, #npu.sram>, %y: memref<3x4xf32, #npu.sram>) {
  %t = sram.alloc : memref<3x5xf32, #npu.sram>
  npu.transpose ins(%x : memref<5x3xf32, #npu.sram>) outs(%t : memref<3x5xf32, #npu.sram>) perm [1, 0]
  npu.matmul ins(%t, %w : memref<3x5xf32, #npu.sram>, memref<5x4xf32, #npu.sram>) outs(%y : memref<3x4xf32, #npu.sram>)
  func.return
}

// A softmax is slower on strided rows.
// CHECK-LABEL: func.func @reader
func.func @reader(%x: memref<2x5x3xf32, #npu.sram>, %y: memref<5x2x3xf32, #npu.sram>) {
  %t = sram.alloc : memref<5x2x3xf32, #npu.sram>
  npu.transpose ins(%x : memref<2x5x3xf32, #npu.sram>) outs(%t : memref<5x2x3xf32, #npu.sram>) perm [1, 0, 2]
  npu.softmax ins(%t : memref<5x2x3xf32, #npu.sram>) outs(%y : memref<5x2x3xf32, #npu.sram>) axis 2
  func.return
}

// The map is overwritten before the transposed one is read.
// CHECK-LABEL: func.func @overwritten
func.func @overwritten(%x: memref<2x5x3xf32, #npu.sram>, %w: memref<3x4xf32, #npu.sram>, %y: memref<5x2x4xf32, #npu.sram>) {
  %t = sram.alloc : memref<5x2x3xf32, #npu.sram>
  npu.transpose ins(%x : memref<2x5x3xf32, #npu.sram>) outs(%t : memref<5x2x3xf32, #npu.sram>) perm [1, 0, 2]
  npu.relu ins(%x : memref<2x5x3xf32, #npu.sram>) outs(%x : memref<2x5x3xf32, #npu.sram>)
  npu.matmul ins(%t, %w : memref<5x2x3xf32, #npu.sram>, memref<3x4xf32, #npu.sram>) outs(%y : memref<5x2x4xf32, #npu.sram>)
  func.return
}

// A view of the transposed map joins two of its axes, which lie apart in the map.
// CHECK-LABEL: func.func @joined
func.func @joined(%x: memref<2x5x3xf32, #npu.sram>, %w: memref<3x4xf32, #npu.sram>, %y: memref<10x4xf32, #npu.sram>) {
  %t = sram.alloc : memref<5x2x3xf32, #npu.sram>
  npu.transpose ins(%x : memref<2x5x3xf32, #npu.sram>) outs(%t : memref<5x2x3xf32, #npu.sram>) perm [1, 0, 2]
  %j = memref.reinterpret_cast %t to offset: [0], sizes: [10, 3], strides: [3, 1] : memref<5x2x3xf32, #npu.sram> to memref<10x3xf32, #npu.sram>
  npu.matmul ins(%j, %w : memref<10x3xf32, #npu.sram>, memref<3x4xf32, #npu.sram>) outs(%y : memref<10x4xf32, #npu.sram>)
  func.return
}

// Another op may change what it gets; a buffer with an offset has its place; tensors have none.
// CHECK-LABEL: func.func @others
func.func @others(%x: memref<2x5x3xf32, #npu.sram>, %w: memref<3x4xf32, #npu.sram>, %y: memref<5x2x4xf32, #npu.sram>, %v: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
  %t = sram.alloc : memref<5x2x3xf32, #npu.sram>
  npu.transpose ins(%x : memref<2x5x3xf32, #npu.sram>) outs(%t : memref<5x2x3xf32, #npu.sram>) perm [1, 0, 2]
  "test.op"(%t) : (memref<5x2x3xf32, #npu.sram>) -> ()
  %u = sram.alloc at 64 : memref<5x2x3xf32, #npu.sram>
  npu.transpose ins(%x : memref<2x5x3xf32, #npu.sram>) outs(%u : memref<5x2x3xf32, #npu.sram>) perm [1, 0, 2]
  npu.matmul ins(%u, %w : memref<5x2x3xf32, #npu.sram>, memref<3x4xf32, #npu.sram>) outs(%y : memref<5x2x4xf32, #npu.sram>)
  %z = npu.transpose %v perm [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  func.return %z : tensor<3x2x4xf32>
}
