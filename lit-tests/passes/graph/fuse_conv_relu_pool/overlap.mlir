// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool)' | filecheck %s --check-prefixes=CHECK,LINE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool{overlap=line-buffer})' | filecheck %s --check-prefixes=CHECK,LINE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool{overlap=recompute})' | filecheck %s --check-prefixes=CHECK,RECOMPUTE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool{overlap=none})' | filecheck %s --check-prefixes=CHECK,NONE

// Windows of 3 by 2 share a row or column; with `none` the published algorithm leaves them alone.
// CHECK-LABEL: func.func @overlapping
// LINE: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [3, 3] by [2, 2] overlap accumulate :
// RECOMPUTE: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [3, 3] by [2, 2] overlap recompute :
// NONE: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu :
// NONE-NEXT: npu.max_pool2d
// CHECK-NEXT: func.return
func.func @overlapping(%x: tensor<1x1x9x9xf32>, %w: tensor<2x1x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x9x9xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x7x7xf32>
  %r = npu.relu %c : tensor<1x2x7x7xf32> -> tensor<1x2x7x7xf32>
  %p = npu.max_pool2d %r kernel [3, 3] strides [2, 2] : tensor<1x2x7x7xf32> -> tensor<1x2x3x3xf32>
  func.return %p : tensor<1x2x3x3xf32>
}

// An average folds by its sum.
// CHECK-LABEL: func.func @overlapping_average
// LINE: npu.conv2d {{.*}} then avg_pool [2, 1] by [1, 1] overlap accumulate :
// RECOMPUTE: npu.conv2d {{.*}} then avg_pool [2, 1] by [1, 1] overlap recompute :
// NONE: npu.avg_pool2d
// CHECK-NEXT: func.return
func.func @overlapping_average(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x3x4xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %p = npu.avg_pool2d %c kernel [2, 1] strides [1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x3x4xf32>
  func.return %p : tensor<1x2x3x4xf32>
}

// A stride of at least the kernel needs no clause, whatever the option.
// CHECK-LABEL: func.func @disjoint
// CHECK: npu.conv2d {{.*}} then max_pool [2, 2] by [3, 2] :
// CHECK-NEXT: func.return
func.func @disjoint(%x: tensor<1x1x8x8xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x3x4xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %p = npu.max_pool2d %c kernel [2, 2] strides [3, 2] : tensor<1x2x8x8xf32> -> tensor<1x2x3x4xf32>
  func.return %p : tensor<1x2x3x4xf32>
}
