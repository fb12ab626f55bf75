// RUN: npu-opt %s -p "npu-fuse-regions{overlays=true top-rows=true max-slowdown=900}" | filecheck %s
// RUN: npu-opt %s -p "npu-fuse-regions{overlays=true max-slowdown=900}" | filecheck %s --check-prefix PADDED

// Without its two rows of padding, the ring of six rows fills later, so more of it may lie over the
// input.
// CHECK-LABEL: func.func @ring_over_input
// CHECK: npu.rows of %x attributes {npu.top_rows} :
// CHECK-NEXT: npu.conv2d {{.*}} npu.ring = 6
// PADDED-LABEL: func.func @ring_over_input
// PADDED: npu.rows of %x :
// PADDED-NEXT: npu.conv2d {{.*}} npu.ring = 6
func.func @ring_over_input(%x: tensor<1x1x32x1xf32>, %v: tensor<1x1x6x1xf32>, %w: tensor<1x1x6x6xf32>) -> tensor<1x1x8x1xf32> {
  %0 = npu.conv2d %x, %v strides [2, 1] pads [2, 2, 2, 3] : (tensor<1x1x32x1xf32>, tensor<1x1x6x1xf32>) -> tensor<1x1x16x6xf32>
  %1 = npu.conv2d %0, %w strides [2, 1] pads [2, 0, 2, 0] : (tensor<1x1x16x6xf32>, tensor<1x1x6x6xf32>) -> tensor<1x1x8x1xf32>
  func.return %1 : tensor<1x1x8x1xf32>
}

// A reader that needs no padding finds the same rows either way.
// CHECK-LABEL: func.func @no_padding
// CHECK: npu.rows of %x :
func.func @no_padding(%x: tensor<1x1x32x1xf32>, %v: tensor<1x1x6x1xf32>, %w: tensor<1x1x2x6xf32>) -> tensor<1x1x8x1xf32> {
  %0 = npu.conv2d %x, %v strides [2, 1] pads [2, 2, 2, 3] : (tensor<1x1x32x1xf32>, tensor<1x1x6x1xf32>) -> tensor<1x1x16x6xf32>
  %1 = npu.conv2d %0, %w strides [2, 1] pads [0, 0, 0, 0] : (tensor<1x1x16x6xf32>, tensor<1x1x2x6xf32>) -> tensor<1x1x8x1xf32>
  func.return %1 : tensor<1x1x8x1xf32>
}
