// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-tails,npu-bufferize,npu-concat-in-place,npu-move-maps,npu-assign-sram-offsets' | filecheck %s

// It rejects nothing: a map that it cannot copy as a whole stays where it is.

// The pool and its convolution read %z last and write the last part of %y: that part lies on the
// first channels of %z, the rest of %z behind %y (3072 + 4 channels of 144 bytes).
// Behind the loop %y moves to the bottom.
// CHECK-LABEL: func.func @pool_last
// CHECK: %z = sram.alloc at 3648 : memref<1x8x6x6xf32, #npu.sram>
// CHECK: %y = sram.alloc at 3072 : memref<1x8x6x6xf32, #npu.sram>
// CHECK: scf.for
// CHECK: {npu.consumes}
// CHECK-NEXT: %y_1 = sram.alloc at 2304 : memref<1x8x6x6xf32, #npu.sram>
// CHECK-NEXT: "memref.copy"(%y, %y_1)
// CHECK: npu.conv2d ins(%y_1
func.func @pool_last(%in : tensor<1x8x6x6xf32>, %w : tensor<4x8x1x1xf32>, %v : tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32> {
  %z = npu.conv2d %in, %v pads [1, 1, 1, 1] : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %a = npu.conv2d %z, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %p = npu.avg_pool2d %z kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] count_include_pad : tensor<1x8x6x6xf32> -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %p, %w : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x8x6x6xf32>
  %o = npu.conv2d %y, %v pads [1, 1, 1, 1] : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return %o : tensor<1x8x6x6xf32>
}

// -----

// Nothing has taken anybody's place.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: memref.copy
func.func @left_alone(%x : tensor<1x8x6x6xf32>, %w : tensor<8x8x1x1xf32>) -> tensor<1x8x6x6xf32> {
  %a = npu.conv2d %x, %w : (tensor<1x8x6x6xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x6x6xf32>
  %b = npu.conv2d %a, %w : (tensor<1x8x6x6xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x6x6xf32>
  func.return %b : tensor<1x8x6x6xf32>
}
