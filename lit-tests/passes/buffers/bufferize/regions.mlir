// RUN: npu-opt %s -p npu-bufferize | filecheck %s

// The first convolution computes row t, the second one and the sum row t - 1. The rows at the border
// of the input are layers of their own. The second convolution writes where the sum puts its row.
// CHECK-LABEL: func.func @region
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x2x3x8xf32, #npu.sram>
// CHECK: memref.store %{{.*}}, %[[RING]]
// CHECK: scf.for %t = %c0 to %c9
// CHECK: memref.load %[[RING]]
// CHECK: %[[NEW:.*]] = memref.subview %[[RING]][0, 0, 2, 0] [1, 2, 1, 8]
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
