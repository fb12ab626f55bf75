// RUN: npu-opt %s -p npu-fuse-activations | filecheck %s

// An activation in a region becomes a part of the sum that computes its rows in the same steps.
// CHECK-LABEL: func.func @same_time
// CHECK:         %[[s:.*]] = npu.add %x, %{{.*}} then relu {npu.row_time = array<i64: 1, 0>, npu.ring = 1 : i64}
// CHECK-NEXT:    npu.max_pool2d %[[s]]
func.func @same_time(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %r = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x {npu.ring = 0 : i64, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    %1 = npu.add %x, %0 {npu.ring = 0 : i64, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.relu %1 {npu.ring = 1 : i64, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    %3 = npu.max_pool2d %2 kernel [1, 1] {npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %3 : tensor<1x2x8x8xf32>
  }
  func.return %r : tensor<1x2x8x8xf32>
}

// One that computes them later stays: the sum would need other rows of its maps.
// CHECK-LABEL: func.func @later
// CHECK:         npu.add
// CHECK-NOT:     then
// CHECK:         npu.relu
func.func @later(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %r = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x {npu.ring = 0 : i64, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    %1 = npu.add %x, %0 {npu.ring = 2 : i64, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.relu %1 {npu.ring = 1 : i64, npu.row_time = array<i64: 1, 1>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    %3 = npu.max_pool2d %2 kernel [1, 1] {npu.row_time = array<i64: 1, 1>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %3 : tensor<1x2x8x8xf32>
  }
  func.return %r : tensor<1x2x8x8xf32>
}
