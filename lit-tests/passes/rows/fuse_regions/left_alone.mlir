// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-regions{when=always}' | filecheck %s

// A layer that needs all rows, and a map that is returned or viewed, end a region. One layer is none.
// CHECK-LABEL: func.func @ends
// CHECK-NOT: npu.rows
func.func @ends(%x : tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x16xf32>, tensor<1x1x4x4xf32>) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.softmax %0 axis 2 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %2 = npu.relu %1 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %3 = npu.relu %2 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %4 = npu.reshape %3 : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  %5 = npu.relu %3 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %2, %4, %5 : tensor<1x1x4x4xf32>, tensor<1x16xf32>, tensor<1x1x4x4xf32>
}

// -----

// Both convolutions would be read by row: only the one before the sum is, and the other map is there as a whole.
// CHECK-LABEL: func.func @two_inputs
// CHECK:      %0 = npu.conv2d %x, %w
// CHECK-NEXT: npu.rows of %y
// CHECK-NEXT:   npu.conv2d %y, %w {{.*}} {npu.row_time = array<i64: 1, 0>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.add %0, %{{.*}} {npu.row_time = array<i64: 1, 0>}
func.func @two_inputs(%x : tensor<1x1x4x4xf32>, %y : tensor<1x1x4x4xf32>, %w : tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32> {
  %0 = npu.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = npu.conv2d %y, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %2 = npu.add %0, %1 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %2 : tensor<1x1x4x4xf32>
}

// -----

// Two readers pad a map with other values: there is no ring of it. A region may read it whole.
// CHECK-LABEL: func.func @two_paddings
// CHECK: %0 = npu.relu %x
// CHECK-NEXT: npu.rows of %0
func.func @two_paddings(%x : tensor<1x1x4x4xf32>, %w : tensor<1x1x3x3xf32>) -> (tensor<1x1x4x4xf32>) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  %2 = npu.max_pool2d %0 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %3 = npu.add %1, %2 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %3 : tensor<1x1x4x4xf32>
}

// -----

// An op that does not say how it computes: the order of its function stays, and an op of linalg what it was.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: npu.
func.func @unknown(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.exp ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "test.op"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @alone
// CHECK-NOT: npu.
func.func @alone(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

// No ring has the rows of a constant, which a concatenation would read one by one.
// CHECK-LABEL: func.func @constant_part
// CHECK-NOT: npu.concat {{.*}}npu.row_time
func.func @constant_part(%x : tensor<1x1x4x4xf32>, %w : tensor<1x2x3x3xf32>) -> tensor<1x1x4x4xf32> {
  %c = arith.constant dense<1.0> : tensor<1x1x4x4xf32>
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.concat %0, %c axis 1 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = npu.conv2d %1, %w pads [1, 1, 1, 1] : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x4x4xf32>
  %3 = npu.max_pool2d %2 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %3 : tensor<1x1x4x4xf32>
}

// -----

// Nobody reads the second map, so a region ends with it or in front of it.
// CHECK-LABEL: func.func @dead
// CHECK-NOT: npu.rows
func.func @dead(%x : tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = npu.relu %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %1 = npu.relu %0 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %2 = npu.relu %0 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  func.return %2 : tensor<1x4x8x8xf32>
}
