// RUN: npu-opt %s --split-input-file -p npu-bufferize | filecheck %s

// The first convolution computes row t, the second one and the sum row t - 1. The rows at the border
// of the input are layers of their own. The second convolution writes where the sum puts its row.
// The ring starts with a row of padding. Rows 0 and 1 are put behind it, then the rows move up.
// CHECK-LABEL: func.func @region
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x2x3x8xf32, #npu.sram>
// CHECK: scf.for %t = %c0 to %c9
// CHECK-NEXT: %[[START:.*]] = arith.cmpi ult, %t, %c1
// CHECK-NEXT: scf.if %[[START]]
// CHECK: memref.subview %[[RING]][0, 0, 0, 0] [1, 2, 1, 8]
// CHECK: %[[MOVED:.*]] = arith.subi %t, %c2
// CHECK-NEXT: %[[MOVES:.*]] = arith.cmpi ult, %[[MOVED]], %c7
// CHECK-NEXT: scf.if %[[MOVES]]
// CHECK-NEXT: %from = memref.subview %[[RING]][0, 0, 1, 0] [1, 2, 2, 8]
// CHECK-NEXT: %to = memref.subview %[[RING]][0, 0, 0, 0] [1, 2, 2, 8]
// CHECK-NEXT: "memref.copy"(%from, %to)
// CHECK: %[[BEHIND:.*]] = arith.addi %t, %c1
// CHECK: %[[SLOT:.*]] = arith.minsi %[[BEHIND]], %c2
// CHECK: %[[NEW:.*]] = memref.subview %[[RING]][0, 0, %[[SLOT]], 0] [1, 2, 1, 8]
// CHECK: memref.subview %x[0, 0, %t, 0] [1, 2, 2, 8]
// CHECK-NEXT: npu.conv2d {{.*}} outs(%[[NEW]] {{.*}} pads [1, 1, 0, 1] {npu.runs = 1 : i64}
// CHECK: npu.conv2d {{.*}} outs(%[[NEW]] {{.*}} pads [0, 1, 1, 1] {npu.runs = 1 : i64}
// CHECK: npu.conv2d {{.*}} outs(%[[NEW]] {{.*}} pads [0, 1, 0, 1] {npu.runs = 6 : i64}
// CHECK: %[[SINCE:.*]] = arith.subi %t, %c1
// CHECK: %[[ROW:.*]] = memref.subview %output[0, 0, %[[SINCE]], 0] [1, 2, 1, 8]
// CHECK-NEXT: npu.conv2d ins(%[[RING]], {{.*}} outs(%[[ROW]] {{.*}} {npu.runs = 8 : i64}
// CHECK-NEXT: %[[SKIP:.*]] = memref.subview %[[RING]][0, 0, 1, 0] [1, 2, 1, 8]
// CHECK-NEXT: npu.add ins(%[[ROW]], %[[SKIP]] {{.*}} outs(%[[ROW]]
func.func @region(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.ring = 0, npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.add %1, %0 {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %2 : tensor<1x2x8x8xf32>
  }
  func.return %y : tensor<1x2x8x8xf32>
}

// -----

// On a map of three rows, a ninth of the kernel's rows lies on padding above, and as much below. The
// first and the last row are layers of their own, which read fewer rows of the ring.
// CHECK-LABEL: func.func @few_rows
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x2x3x8xf32, #npu.sram>
// CHECK: memref.subview %output
// CHECK: memref.subview %[[RING]][0, 0, 1, 0] [1, 2, 2, 8]
// CHECK-NEXT: npu.conv2d {{.*}} pads [1, 1, 0, 1] {npu.runs = 1 : i64}
// CHECK: memref.subview %[[RING]][0, 0, 0, 0] [1, 2, 2, 8]
// CHECK-NEXT: npu.conv2d {{.*}} pads [0, 1, 1, 1] {npu.runs = 1 : i64}
// CHECK: npu.conv2d ins(%[[RING]], {{.*}} pads [0, 1, 0, 1] {npu.runs = 1 : i64}
func.func @few_rows(%x : tensor<1x2x3x8xf32>, %v : tensor<2x2x1x1xf32>, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x3x8xf32> {
  %y = npu.rows of %x : tensor<1x2x3x8xf32> -> tensor<1x2x3x8xf32> {
    %0 = npu.conv2d %x, %v {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x3x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x3x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x3x8xf32>
    npu.yield %1 : tensor<1x2x3x8xf32>
  }
  func.return %y : tensor<1x2x3x8xf32>
}

// -----

// If flash is short, all rows are one layer.
builtin.module attributes {npu.flash = "small"} {
  // CHECK-LABEL: func.func @small
  // CHECK-COUNT-2: npu.conv2d
  // CHECK-NOT: npu.conv2d
  func.func @small(%x : tensor<1x2x3x8xf32>, %v : tensor<2x2x1x1xf32>, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x3x8xf32> {
    %y = npu.rows of %x : tensor<1x2x3x8xf32> -> tensor<1x2x3x8xf32> {
      %0 = npu.conv2d %x, %v {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x3x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x8xf32>
      %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x3x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x3x8xf32>
      npu.yield %1 : tensor<1x2x3x8xf32>
    }
    func.return %y : tensor<1x2x3x8xf32>
  }
}
