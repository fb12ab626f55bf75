// RUN: npu-opt %s -p npu-outline-layers --verify-diagnostics --split-input-file | filecheck %s

// Slices side by side do not overlap, the same elements under two names may be overwritten one by one.
// CHECK-LABEL: func.func @apart
// CHECK: func.call @softmax
// CHECK: func.call @relu
func.func @apart(%x : memref<4x4xf32>) {
  %a = memref.subview %x[0, 0] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
  %b = memref.subview %x[0, 2] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1], offset: 2>>
  npu.softmax ins(%a : memref<4x2xf32, strided<[4, 1]>>) outs(%b : memref<4x2xf32, strided<[4, 1], offset: 2>>) axis 1
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<4x4xf32> to memref<4x4xf32>
  npu.relu ins(%x : memref<4x4xf32>) outs(%v : memref<4x4xf32>)
  func.return
}

// -----

// CHECK-LABEL: npu-outline-layers: expected npu.max_pool2d to write a buffer that overlaps none it reads
func.func @in_place(%x : memref<1x1x4x4xf32>) {
  npu.max_pool2d ins(%x : memref<1x1x4x4xf32>) outs(%x : memref<1x1x4x4xf32>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
  func.return
}

// -----

// The same elements in another order.
// CHECK-LABEL: npu-outline-layers: expected npu.relu to write a buffer that overlaps none it reads
func.func @turned(%x : memref<4x4xf32>) {
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [1, 4] : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  npu.relu ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%x : memref<4x4xf32>)
  func.return
}

// -----

// A row that is added to all rows, itself among them.
// CHECK-LABEL: npu-outline-layers: expected npu.add to write a buffer that overlaps none it reads
func.func @row(%x : memref<4x4xf32>) {
  %r = memref.subview %x[1, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<1x4xf32, strided<[4, 1], offset: 4>>
  npu.add ins(%x, %r : memref<4x4xf32>, memref<1x4xf32, strided<[4, 1], offset: 4>>) outs(%x : memref<4x4xf32>)
  func.return
}

// -----

// Strides that are not known prove nothing.
// CHECK-LABEL: func.func @unknown
// CHECK: func.call @relu
func.func @unknown(%x : memref<4x4xf32>, %n : index) {
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [%n, 1] : memref<4x4xf32> to memref<4x4xf32, strided<[?, 1]>>
  npu.relu ins(%t : memref<4x4xf32, strided<[?, 1]>>) outs(%x : memref<4x4xf32>)
  func.return
}
