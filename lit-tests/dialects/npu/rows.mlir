// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @chain
// CHECK: %[[Y:.*]] = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x2x3x3xf32> {
// CHECK-NEXT: %[[C:.*]] = npu.conv2d %x, %w {{.*}} {npu.ring = 2 : i64}
// CHECK-NEXT: %[[P:.*]] = npu.max_pool2d %[[C]] kernel [2, 2] strides [2, 2]
// CHECK-NEXT: npu.yield %[[P]] : tensor<1x2x3x3xf32>
// CHECK: func.return %[[Y]]
// GENERIC: "npu.rows"(%{{.*}}) ({
func.func @chain(%x : tensor<1x4x8x8xf32>, %w : tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x2x3x3xf32> {
    %0 = npu.conv2d %x, %w {npu.ring = 2} : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x6x6xf32>
    %1 = npu.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x6x6xf32> -> tensor<1x2x3x3xf32>
    npu.yield %1 : tensor<1x2x3x3xf32>
  }
  func.return %y : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @region
// CHECK: npu.rows of %x
// CHECK-NEXT: %[[A:.*]] = npu.conv2d %x, %w {{.*}} {npu.ring = 3 : i64, npu.row_time = array<i64: 1, 0>}
// CHECK-NEXT: %[[B:.*]] = npu.conv2d %[[A]], %w {{.*}} {npu.ring = 0 : i64, npu.row_time = array<i64: 1, 1>}
// CHECK-NEXT: %[[C:.*]] = npu.add %[[B]], %[[A]] {npu.row_time = array<i64: 1, 1>}
// CHECK-NEXT: npu.yield %[[C]]
func.func @region(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.ring = 0, npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.add %1, %0 {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %2 : tensor<1x2x8x8xf32>
  }
  func.return %y : tensor<1x2x8x8xf32>
}

// The rows of the input arrive one at a time, and three of them are kept.
// CHECK-LABEL: func.func @streamed
// CHECK: npu.rows of %x attributes {npu.ring = 3 : i64, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32>
// CHECK-NEXT: npu.conv2d %x, %w {{.*}} {npu.row_time = array<i64: 1, 1>}
func.func @streamed(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = npu.rows of %x attributes {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return %y : tensor<1x2x8x8xf32>
}

// A layer that needs one row takes it where it arrives; a ring of one row is right, too.
// CHECK-LABEL: func.func @taken
// CHECK: npu.rows of %x attributes {npu.ring = 0 : i64, npu.row_time = array<i64: 1, 0>}
// CHECK: npu.rows of %x attributes {npu.ring = 1 : i64, npu.row_time = array<i64: 1, 0>}
func.func @taken(%x : tensor<1x2x8x8xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 0, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x {npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  %z = npu.rows of %x attributes {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x {npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}
