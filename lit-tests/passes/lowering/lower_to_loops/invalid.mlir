// RUN: npu-opt %s --pass-pipeline=npu-lower-to-loops --verify-diagnostics --split-input-file | filecheck %s

// CHECK-LABEL: npu-lower-to-loops: expected npu.relu on buffers; run npu-bufferize first
func.func @tensor(%x : tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected f32 elements, got memref<4xi8>
func.func @integers(%x : memref<4xi8>, %y : memref<4xi8>) {
  npu.softmax ins(%x : memref<4xi8>) outs(%y : memref<4xi8>) axis 0
  func.return
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected a strided layout, got memref<4x4xf32, affine_map
func.func @layout(%x : memref<4x4xf32, affine_map<(d0, d1) -> (d1 mod 2, d0)>>) {
  npu.relu ins(%x : memref<4x4xf32, affine_map<(d0, d1) -> (d1 mod 2, d0)>>) outs(%x : memref<4x4xf32, affine_map<(d0, d1) -> (d1 mod 2, d0)>>)
  func.return
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected npu.max_pool2d to write a buffer that overlaps none it reads
func.func @in_place(%x : memref<1x1x4x4xf32>) {
  npu.max_pool2d ins(%x : memref<1x1x4x4xf32>) outs(%x : memref<1x1x4x4xf32>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
  func.return
}

// -----

// The same elements in another order.
// CHECK-LABEL: npu-lower-to-loops: expected npu.relu to write a buffer that overlaps none it reads
func.func @turned(%x : memref<4x4xf32>) {
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [1, 4] : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  npu.relu ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%x : memref<4x4xf32>)
  func.return
}

// -----

// A row that is added to all rows, itself among them.
// CHECK-LABEL: npu-lower-to-loops: expected npu.add to write a buffer that overlaps none it reads
func.func @row(%x : memref<4x4xf32>) {
  %r = memref.subview %x[1, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<1x4xf32, strided<[4, 1], offset: 4>>
  npu.add ins(%x, %r : memref<4x4xf32>, memref<1x4xf32, strided<[4, 1], offset: 4>>) outs(%x : memref<4x4xf32>)
  func.return
}

// -----

// A residual is read where the sum is written, an input all around it.
// CHECK-LABEL: npu-lower-to-loops: expected npu.conv2d to write a buffer that overlaps none it reads
func.func @residual(%x : memref<1x1x4x4xf32>, %w : memref<1x1x1x1xf32>) {
  npu.conv2d ins(%x, %w, %x : memref<1x1x4x4xf32>, memref<1x1x1x1xf32>, memref<1x1x4x4xf32>) outs(%x : memref<1x1x4x4xf32>) then add residual first
  func.return
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected f32 elements, got memref<4xi32>
func.func @power_of_integers(%x : memref<4xi32>) {
  npu.binary ins(%x, %x : memref<4xi32>, memref<4xi32>) outs(%x : memref<4xi32>) with pow
  func.return
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected f32 elements, got memref<4xi8>
func.func @mean_of_bytes(%x : memref<4xi8>, %y : memref<1xi8>) {
  npu.reduce ins(%x : memref<4xi8>) outs(%y : memref<1xi8>) with mean axes [0]
  func.return
}
