// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-bufferize' | filecheck %s

// The sum puts each row where it has read one, as the convolution has read that row before.
// CHECK-LABEL: func.func @over
// CHECK:      npu.lrn ins(%x {{.*}} outs(%output :
// CHECK-NOT:  sram.alloc : memref<1x2x8x8xf32
// CHECK:      npu.softmax ins(%output
func.func @over(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x1x1xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %0 = npu.lrn %x size 1 alpha 1.0 beta 1.0 bias 1.0 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  %1 = npu.rows of %0 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %2 = npu.conv2d %0, %w strides [1, 1] pads [0, 0, 0, 0] {npu.row_time = array<i64: 1, 0>, npu.ring = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
    %3 = npu.add %2, %0 {npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %3 : tensor<1x2x8x8xf32>
  }
  %4 = npu.softmax %1 axis 1 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  func.return %4, %x : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// -----

// The convolution reads that row once more, for the row below it.
// CHECK-LABEL: func.func @read_later
// CHECK:      %[[MAP:.*]] = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
// CHECK-NEXT: npu.lrn ins(%x {{.*}} outs(%[[MAP]] :
// CHECK:      npu.softmax ins(%output
func.func @read_later(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %0 = npu.lrn %x size 1 alpha 1.0 beta 1.0 bias 1.0 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  %1 = npu.rows of %0 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %2 = npu.conv2d %0, %w strides [1, 1] pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 0>, npu.ring = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %3 = npu.add %2, %0 {npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %3 : tensor<1x2x8x8xf32>
  }
  %4 = npu.softmax %1 axis 1 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  func.return %4, %x : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}
