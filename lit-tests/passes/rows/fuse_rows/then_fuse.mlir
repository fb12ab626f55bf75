// RUN: npu-opt %s -p 'npu-fuse-rows{when=always},npu-fuse-additions,npu-fuse-activations' | filecheck %s

// Activations behind a sum are fused inside of the rows; an addition stays behind its convolution,
// whose map never exists.
// CHECK-LABEL: func.func @residual
// CHECK:       npu.rows of %x
// CHECK:         %[[c:.*]] = npu.conv2d %x, %w {{.*}}npu.ring = 1 : i64
// CHECK:         %[[s:.*]] = npu.add %x, %[[c]] then relu {npu.ring = 2 : i64}
// CHECK:         npu.max_pool2d %[[s]]
func.func @residual(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32> {
  %0 = npu.conv2d %x, %w strides [1, 1] pads [1, 1, 1, 1] : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
  %1 = npu.add %x, %0 : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %2 = npu.relu %1 : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  %3 = npu.max_pool2d %2 kernel [2, 2] strides [2, 2] : tensor<1x2x8x8xf32> -> tensor<1x2x4x4xf32>
  func.return %3 : tensor<1x2x4x4xf32>
}
