// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fold-batch-norm, npu-fuse-conv-relu-pool{overlap=none}, npu-bufferize, npu-assign-sram-offsets{strategy=ping-pong})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fold-batch-norm, npu-fuse-conv-relu-pool, npu-bufferize, npu-assign-sram-offsets)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize, npu-assign-sram-offsets{strategy=none})' | filecheck %s --check-prefix=NAIVE
// RUN: npu-opt %s -p 'npu-fuse-conv-relu-pool, npu-bufferize, npu-assign-sram-offsets{strategy=none}' | filecheck %s --check-prefix=FUSED

// LeNet-5 of paper 002: 9118, 2814 and 2200 elements of four bytes.

// CHECK-LABEL: func.func @lenet5
// CHECK-SAME:    sram.offset = {{[0-9]+}} : i64
// CHECK-SAME:    sram.arena = 8800 : i64
// CHECK:         sram.alloc at {{[0-9]+}} : memref<1x6x14x14xf32, #npu.sram>
// CHECK:         npu.conv2d {{.*}} then relu then max_pool [2, 2] by [2, 2]
// CHECK:         npu.conv2d {{.*}} then relu then max_pool [2, 2] by [2, 2]
// CHECK:         npu.fully_connected {{.*}} then relu
// CHECK-NOT:     28x28

// NAIVE-LABEL: func.func @lenet5
// NAIVE-SAME:    sram.arena = 36472 : i64

// FUSED-LABEL: func.func @lenet5
// FUSED-SAME:    sram.arena = 11256 : i64
func.func @lenet5(%image: tensor<1x1x32x32xf32>) -> tensor<1x10xf32> {
  %w1 = arith.constant dense<0.5> : tensor<6x1x5x5xf32>
  %b1 = arith.constant dense<0.5> : tensor<6xf32>
  %w2 = arith.constant dense<0.5> : tensor<16x6x5x5xf32>
  %b2 = arith.constant dense<0.5> : tensor<16xf32>
  %w3 = arith.constant dense<0.5> : tensor<120x400xf32>
  %b3 = arith.constant dense<0.5> : tensor<120xf32>
  %w4 = arith.constant dense<0.5> : tensor<84x120xf32>
  %b4 = arith.constant dense<0.5> : tensor<84xf32>
  %w5 = arith.constant dense<0.5> : tensor<10x84xf32>
  %b5 = arith.constant dense<0.5> : tensor<10xf32>
  %c1 = npu.conv2d %image, %w1, %b1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<1x6x28x28xf32>
  %r1 = npu.relu %c1 : tensor<1x6x28x28xf32> -> tensor<1x6x28x28xf32>
  %p1 = npu.max_pool2d %r1 kernel [2, 2] strides [2, 2] : tensor<1x6x28x28xf32> -> tensor<1x6x14x14xf32>
  %c2 = npu.conv2d %p1, %w2, %b2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x6x14x14xf32>, tensor<16x6x5x5xf32>, tensor<16xf32>) -> tensor<1x16x10x10xf32>
  %r2 = npu.relu %c2 : tensor<1x16x10x10xf32> -> tensor<1x16x10x10xf32>
  %p2 = npu.max_pool2d %r2 kernel [2, 2] strides [2, 2] : tensor<1x16x10x10xf32> -> tensor<1x16x5x5xf32>
  %f = npu.reshape %p2 : tensor<1x16x5x5xf32> -> tensor<1x400xf32>
  %d3 = npu.fully_connected %f, %w3, %b3 : (tensor<1x400xf32>, tensor<120x400xf32>, tensor<120xf32>) -> tensor<1x120xf32>
  %r3 = npu.relu %d3 : tensor<1x120xf32> -> tensor<1x120xf32>
  %d4 = npu.fully_connected %r3, %w4, %b4 : (tensor<1x120xf32>, tensor<84x120xf32>, tensor<84xf32>) -> tensor<1x84xf32>
  %r4 = npu.relu %d4 : tensor<1x84xf32> -> tensor<1x84xf32>
  %d5 = npu.fully_connected %r4, %w5, %b5 : (tensor<1x84xf32>, tensor<10x84xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  func.return %d5 : tensor<1x10xf32>
}
