// RUN: npu-opt %s -p npu-bufferize | filecheck %s

// The second convolution needs rows 2q - 2 to 2q + 2. Its row 0 needs two rows of padding, so it is a
// layer of its own, and pads by itself. The ring starts with row 0 of its map, and is full when row 1
// is computed. Row 0 waits for it. Rows at the bottom take padding from the ring.
// CHECK-LABEL: func.func @waits
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x2x5x3xf32, #npu.sram>
// CHECK-NEXT: scf.for %t = %c0 to %c9
// CHECK: %[[SLOT:.*]] = arith.minsi %t, %c4
// CHECK: memref.subview %[[RING]][0, 0, %[[SLOT]], 0] [1, 2, 1, 3]
// CHECK: %[[SINCE:.*]] = arith.subi %t, %c2
// CHECK: %[[LATE:.*]] = arith.subi %[[SINCE]], %c2
// CHECK-NEXT: arith.cmpi ult, %[[LATE]], %c5
// CHECK: %[[TOP:.*]] = memref.subview %output[0, 0, 0, 0] [1, 2, 1, 3]
// CHECK-NEXT: %[[ROWS:.*]] = memref.subview %[[RING]][0, 0, 0, 0] [1, 2, 3, 3]
// CHECK-NEXT: npu.conv2d ins(%[[ROWS]], {{.*}} outs(%[[TOP]] {{.*}} pads [2, 0, 0, 0] {npu.runs = 1 : i64}
// CHECK: %[[ROW:.*]] = memref.subview %output[0, 0, %row, 0] [1, 2, 1, 3]
// CHECK-NEXT: npu.conv2d ins(%[[RING]], {{.*}} outs(%[[ROW]] {{.*}} pads [0, 0, 0, 0] {npu.runs = 3 : i64}
func.func @waits(%x : tensor<1x2x8x3xf32>, %v : tensor<2x2x1x1xf32>, %w : tensor<2x2x5x1xf32>) -> tensor<1x2x4x3xf32> {
  %y = npu.rows of %x attributes {npu.top_rows} : tensor<1x2x8x3xf32> -> tensor<1x2x4x3xf32> {
    %0 = npu.conv2d %x, %v pads [0, 0, 0, 0] {npu.ring = 5, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x3xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x3xf32>
    %1 = npu.conv2d %0, %w strides [2, 1] pads [2, 0, 2, 0] {npu.row_time = array<i64: 2, 2>} : (tensor<1x2x8x3xf32>, tensor<2x2x5x1xf32>) -> tensor<1x2x4x3xf32>
    npu.yield %1 : tensor<1x2x4x3xf32>
  }
  func.return %y : tensor<1x2x4x3xf32>
}

// The result of this one is a sum, so no row waits. The row at the top finds its rows where they are
// put while the ring fills.
// CHECK-LABEL: func.func @in_time
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x2x3x8xf32, #npu.sram>
// CHECK-NEXT: scf.for
// CHECK: %[[ROW:.*]] = memref.subview %output[0, 0, %since, 0]
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi ult, %since, %c1
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ROWS:.*]] = memref.subview %[[RING]][0, 0, 1, 0] [1, 2, 2, 8]
// CHECK-NEXT: npu.conv2d ins(%[[ROWS]], {{.*}} pads [1, 1, 0, 1] {npu.runs = 1 : i64}
// CHECK: npu.conv2d ins(%[[RING]], {{.*}} pads [0, 1, 0, 1] {npu.runs = 7 : i64}
func.func @in_time(%x : tensor<1x2x8x8xf32>, %v : tensor<2x2x1x1xf32>, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = npu.rows of %x attributes {npu.top_rows} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %v pads [0, 0, 0, 0] {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.ring = 0, npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.add %1, %0 {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %2 : tensor<1x2x8x8xf32>
  }
  func.return %y : tensor<1x2x8x8xf32>
}

// Only rows below the map are missing: the last row of the result leaves them out, too.
// CHECK-LABEL: func.func @padding_below_a_ring
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x1x1x1xf32, #npu.sram>
// CHECK: %[[NONE:.*]] = memref.subview %[[RING]][0, 0, 0, 0] [1, 1, 0, 1]
// CHECK-NEXT: npu.conv2d ins(%[[NONE]], {{.*}} pads [0, 2, 1, 0] {npu.runs = 1 : i64}
// CHECK: npu.conv2d ins(%[[RING]], {{.*}} pads [0, 2, 0, 0] {npu.runs = 1 : i64}
func.func @padding_below_a_ring(%x : tensor<1x1x1x1xf32>, %w : tensor<1x1x1x1xf32>) -> tensor<1x1x2x3xf32> {
  %y = npu.rows of %x attributes {npu.top_rows} : tensor<1x1x1x1xf32> -> tensor<1x1x2x3xf32> {
    %0 = npu.conv2d %x, %w {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
    %1 = npu.conv2d %0, %w pads [0, 2, 1, 0] {npu.row_time = array<i64: 1, 0>} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x3xf32>
    npu.yield %1 : tensor<1x1x2x3xf32>
  }
  func.return %y : tensor<1x1x2x3xf32>
}
