// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=always}' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{max-slowdown=1000}' | filecheck %s --check-prefix=SMALLEST
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{max-slowdown=0}' | filecheck %s --check-prefix=NONE
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=needed sram-bytes=2432}' | filecheck %s --check-prefix=NEEDED
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=needed sram-bytes=2431}' | filecheck %s --check-prefix=SMALLER

// No region adds no instructions.
// NONE-NOT: npu.rows

// A map with two readers: three rows of it are kept, for the convolution. The second convolution computes its row where the
// sum puts its own.
// CHECK-LABEL: func.func @residual
// CHECK:      npu.rows of %x
// CHECK-NEXT:   npu.conv2d %x, {{.*}} {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.add {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} {npu.row_time = array<i64: 2, 3>}
// CHECK-NEXT:   npu.yield
// SMALLEST-LABEL: func.func @residual
// SMALLEST: npu.rows of %x
// With its parameters, no layer needs more than 2432 bytes by itself.
// NEEDED-LABEL: func.func @residual
// NEEDED-NOT: npu.rows
// NEEDED: func.return
// SMALLER-LABEL: func.func @residual
// SMALLER: npu.rows of
func.func @residual(%x : tensor<1x2x8x8xf32>, %w0 : tensor<4x2x1x1xf32>, %w1 : tensor<4x4x3x3xf32>, %w2: tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %0 = npu.conv2d %x, %w0 : (tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = npu.conv2d %0, %w1 pads [1, 1, 1, 1] : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %2 = npu.add %0, %1 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = npu.conv2d %2, %w2 strides [2, 2] : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %3 : tensor<1x2x3x3xf32>
}

// Both branches start at the input. The wide one waits, so that the sum needs no ring of it.
// CHECK-LABEL: func.func @late_branch
// CHECK:      npu.rows of %x
// CHECK-NEXT:   %[[WIDE:.*]] = npu.conv2d %x, %w0 {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 1 : i64}
// CHECK-NEXT:   npu.conv2d %x, %w1 {{.*}} {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.add {{.*}}%[[WIDE]]
func.func @late_branch(%x : tensor<1x2x8x8xf32>, %w0 : tensor<8x2x1x1xf32>, %w1 : tensor<1x2x3x3xf32>, %w2: tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32> {
  %0 = npu.conv2d %x, %w0 : (tensor<1x2x8x8xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.conv2d %x, %w1 pads [1, 1, 1, 1] : (tensor<1x2x8x8xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x8x8xf32>
  %2 = npu.conv2d %1, %w2 pads [1, 1, 1, 1] : (tensor<1x1x8x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32>
  %3 = npu.add %2, %0 : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  func.return %3 : tensor<1x8x8x8xf32>
}

// A 1x1 convolution with stride 2 passes over rows that the other branch reads.
// CHECK-LABEL: func.func @strided_shortcut
// CHECK:      npu.rows of %x
// CHECK-NEXT:   npu.relu {{.*}} {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} strides [2, 2] pads [0, 0, 1, 1] {npu.row_time = array<i64: 2, 2>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} strides [2, 2] {{.*}} {npu.row_time = array<i64: 2, 1>, npu.ring = 1 : i64}
// CHECK-NEXT:   npu.add
func.func @strided_shortcut(%x : tensor<1x2x8x8xf32>, %w0 : tensor<2x2x3x3xf32>, %w1 : tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %0 = npu.relu %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  %1 = npu.conv2d %0, %w0 strides [2, 2] pads [0, 0, 1, 1] : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %2 = npu.conv2d %0, %w1 strides [2, 2] : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = npu.add %1, %2 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %3 : tensor<1x2x4x4xf32>
}

// Overlapping pooling windows: convolution and pool are two layers again, with three rows between them.
// CHECK-LABEL: func.func @overlap
// CHECK:      npu.rows of %x
// CHECK-NEXT:   npu.conv2d {{.*}} then relu {npu.layer = "c", npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.max_pool2d {{.*}} {npu.layer = "c_pool", {{.*}}npu.row_time = array<i64: 2, 2>, npu.ring = 0 : i64}
// CHECK-NEXT:   npu.relu {{.*}} {npu.row_time = array<i64: 2, 2>}
func.func @overlap(%x : tensor<1x1x9x9xf32>, %w : tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %0 = npu.conv2d %x, %w then relu then max_pool [3, 3] by [2, 2] overlap accumulate {npu.layer = "c", npu.value = "v"} : (tensor<1x1x9x9xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = npu.relu %0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %1 : tensor<1x2x4x4xf32>
}

// A layer may read a map twice, and its row lies where the map's does.
// CHECK-LABEL: func.func @doubled
// CHECK:      npu.rows of %x
// CHECK-NEXT:   npu.max_pool2d {{.*}} {npu.row_time = array<i64: 1, 0>, npu.ring = 0 : i64}
// CHECK-NEXT:   [[SUM:%.*]] = npu.add [[P:%.*]], [[P]] {npu.row_time = array<i64: 1, 0>, npu.ring = 2 : i64}
// CHECK-NEXT:   npu.max_pool2d [[SUM]]
func.func @doubled(%x : tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %0 = npu.max_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  %1 = npu.add %0, %0 : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %2 = npu.max_pool2d %1 kernel [2, 2] strides [2, 2] : tensor<1x2x8x8xf32> -> tensor<1x2x4x4xf32>
  func.return %2 : tensor<1x2x4x4xf32>
}
