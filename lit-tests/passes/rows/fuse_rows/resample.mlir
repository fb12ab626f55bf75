// RUN: npu-opt %s -p 'npu-fuse-rows{when=always}' | filecheck %s
// RUN: npu-opt %s -p 'npu-fuse-rows{when=always},npu-bufferize' | filecheck %s --check-prefix=BUFFERS

// Linear interpolation by whole numbers needs the row of the same place and its neighbours. The
// positions of its rows alternate. Above and below the map the row at the edge is repeated.
// CHECK-LABEL: func.func @up
// CHECK:       npu.rows of %x
// CHECK-NEXT:    npu.conv2d {{.*}} {npu.ring = 3 : i64}
// CHECK-NEXT:    npu.resample {{.*}} {npu.ring = 3 : i64}
// CHECK-NEXT:    npu.conv2d
// BUFFERS-LABEL: func.func @up
// BUFFERS: npu.resample ins(%{{.*}} : memref<1x1x3x4xf32, #npu.sram>) {{.*}} axis 2 size 1 scale 1.0 offset 0.75 axis 3 size 8 scale 0.5 offset -0.25
// BUFFERS: npu.resample ins(%{{.*}} : memref<1x1x3x4xf32, #npu.sram>) {{.*}} axis 2 size 1 scale 1.0 offset 1.25 axis 3 size 8 scale 0.5 offset -0.25
func.func @up(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x1x1xf32>, %u: tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32> {
  %0 = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = npu.resample %0 axis 2 size 8 scale 0.5 offset -0.25 axis 3 size 8 scale 0.5 offset -0.25 : tensor<1x1x4x4xf32> -> tensor<1x1x8x8xf32>
  %2 = npu.conv2d %1, %u strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32>
  func.return %2 : tensor<1x2x6x6xf32>
}

// Positions that do not repeat, a cubic filter, and a cut at the top need the whole map.
// CHECK-LABEL: func.func @whole
// CHECK-NOT:   npu.rows
// CHECK:       func.return
func.func @whole(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x14x4xf32> {
  %0 = npu.resample %x axis 2 size 7 scale 0.5 offset 0.0 : tensor<1x1x4x4xf32> -> tensor<1x1x7x4xf32>
  %1 = npu.resample %0 axis 2 size 14 scale 0.5 offset -0.25 cubic -0.75 : tensor<1x1x7x4xf32> -> tensor<1x1x14x4xf32>
  %2 = npu.relu %1 : tensor<1x1x14x4xf32> -> tensor<1x1x14x4xf32>
  %3 = npu.pick %2 axis 2 [1 to 13, none] fill 0.0 : tensor<1x1x14x4xf32> -> tensor<1x1x14x4xf32>
  func.return %3 : tensor<1x1x14x4xf32>
}
