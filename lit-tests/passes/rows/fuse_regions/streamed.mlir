// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=input}' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=always}' | filecheck %s --check-prefix=ALL

// The first layer alone: three rows of the input, and no region behind it.
// CHECK-LABEL: func.func @chain
// CHECK:      %[[Y:.*]] = npu.rows of %x attributes {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d %x, {{.*}} {npu.row_time = array<i64: 1, 1>}
// CHECK-NEXT:   npu.yield
// CHECK-NEXT: }
// CHECK-NEXT: npu.conv2d %[[Y]]
// ALL-LABEL: func.func @chain
// ALL:      npu.rows of %x attributes {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// ALL-NEXT:   npu.conv2d %x, {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 3 : i64}
// ALL-NEXT:   npu.conv2d {{.*}} {npu.row_time = array<i64: 1, 2>}
func.func @chain(%x : tensor<1x1x8x8xf32> {npu.stream}, %w : tensor<2x1x3x3xf32>, %v : tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x8x8xf32>
  %1 = npu.conv2d %0, %v pads [1, 1, 1, 1] : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
  func.return %1 : tensor<1x2x8x8xf32>
}

// A layer that needs one row takes it where it arrives.
// CHECK-LABEL: func.func @taken
// CHECK:      npu.rows of %x attributes {npu.row_time = array<i64: 1, 0>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.quantize %x {{.*}} {npu.row_time = array<i64: 1, 0>}
func.func @taken(%x : tensor<1x1x8x8xf32> {npu.stream}) -> tensor<1x1x8x8xi8> {
  %0 = npu.quantize %x scales [0.5] zero_point 0 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xi8>
  func.return %0 : tensor<1x1x8x8xi8>
}

// A 1x1 convolution that pads needs a ring for the row of zeros, which it reads before the first row arrives.
// CHECK-LABEL: func.func @early
// CHECK:      npu.rows of %x attributes {npu.row_time = array<i64: 1, 1>, npu.ring = 1 : i64}
// CHECK-NEXT:   npu.conv2d %x, {{.*}} {npu.row_time = array<i64: 1, 0>}
func.func @early(%x : tensor<1x1x8x8xf32> {npu.stream}, %w : tensor<1x1x1x1xf32>) -> tensor<1x1x9x8xf32> {
  %0 = npu.conv2d %x, %w pads [1, 0, 0, 0] : (tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x9x8xf32>
  func.return %0 : tensor<1x1x9x8xf32>
}

// Two readers of the input are in one region with it.
// CHECK-LABEL: func.func @both
// CHECK:      npu.rows of %x attributes {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d %x, {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.add {{.*}} {npu.row_time = array<i64: 1, 1>}
// CHECK-NEXT:   npu.yield
func.func @both(%x : tensor<1x1x8x8xf32> {npu.stream}, %w : tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32> {
  %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32>
  %1 = npu.add %0, %x : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  func.return %1 : tensor<1x1x8x8xf32>
}

// A function without a streamed input is left alone.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: npu.rows
func.func @whole(%x : tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32> {
  %0 = npu.relu %x : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  func.return %0 : tensor<1x1x8x8xf32>
}
