// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=input}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions' --verify-diagnostics --split-input-file | filecheck %s

// Two readers of different rates.
func.func @rates(%x : tensor<1x1x8x8xf32> {npu.stream}, %w : tensor<1x1x3x3xf32>) -> (tensor<1x1x8x8xf32>, tensor<1x1x4x4xf32>) {
  %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.layer = "fine"} : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32>
  %1 = npu.conv2d %x, %w strides [2, 2] pads [1, 1, 1, 1] {npu.layer = "coarse"} : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  func.return %0, %1 : tensor<1x1x8x8xf32>, tensor<1x1x4x4xf32>
}
// CHECK-LABEL: npu-fuse-regions: the rows of the input arrive one at a time: expected to run fine, coarse in one region of rows

// -----

// A layer that cannot run row by row.
func.func @flat(%x : tensor<1x1x4x4xf32> {npu.stream}) -> tensor<1x16xf32> {
  %0 = npu.reshape %x {npu.layer = "flatten"} : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  func.return %0 : tensor<1x16xf32>
}
// CHECK: npu-fuse-regions: the rows of the input arrive one at a time: expected to run flatten row by row

// -----

// A state.
func.func @state(%x : tensor<1x1x4x4xf32> {npu.stream}, %h : tensor<4xf32> {npu.state = "n"})
    -> (tensor<1x1x4x4xf32>, tensor<4xf32> {npu.state = "n"}) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %0, %h : tensor<1x1x4x4xf32>, tensor<4xf32>
}
// CHECK: npu-fuse-regions: expected layers without states for a streamed input
