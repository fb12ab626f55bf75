// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-rows{when=always}' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-rows{sram-bytes=1400}' | filecheck %s --check-prefix=NEEDED
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-rows{when=smallest}' | filecheck %s --check-prefix=SMALLEST
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-rows{when=always},npu-bufferize' | filecheck %s --check-prefix=BUFFERS

// CHECK-LABEL: func.func @two_convolutions
// CHECK: npu.rows of %x
// CHECK-NEXT: npu.conv2d %x, %w0 {{.*}} {npu.ring = 3 : i64}
// CHECK-NEXT: npu.conv2d
// CHECK-NEXT: npu.yield

// The map between the two needs 8 x 6 x 6 x 4 = 1152 bytes, and each layer more than 1400 with it.
// NEEDED-LABEL: func.func @two_convolutions
// NEEDED: npu.rows of %x
// SMALLEST-LABEL: func.func @two_convolutions
// SMALLEST: npu.rows of %x

// Of the map between them there are three rows; they move up, and one more comes in.
// BUFFERS-LABEL: func.func @two_convolutions
// BUFFERS: %window = sram.alloc : memref<1x8x3x6xf32, #npu.sram>
// BUFFERS: scf.for %r = %c0 to %c4
// BUFFERS: memref.subview %window[0, 0, 1, 0] [1, 8, 2, 6]
// BUFFERS: "memref.copy"(%from, %to)
// BUFFERS: scf.for %s
// BUFFERS: npu.conv2d ins(%{{.*}}, %w0 : memref<1x1x3x8xf32
// BUFFERS: npu.conv2d ins(%window, %w1
// BUFFERS-SAME: npu.runs = 4
func.func @two_convolutions(%x : tensor<1x1x8x8xf32>, %w0 : tensor<8x1x3x3xf32>, %w1 : tensor<1x8x3x3xf32>) -> tensor<1x1x4x4xf32> {
  %0 = npu.conv2d %x, %w0 : (tensor<1x1x8x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  %1 = npu.conv2d %0, %w1 : (tensor<1x8x6x6xf32>, tensor<1x8x3x3xf32>) -> tensor<1x1x4x4xf32>
  func.return %1 : tensor<1x1x4x4xf32>
}

// -----

// Overlapping pooling windows: convolution and pool are two layers again, with three rows between them.
// CHECK-LABEL: func.func @overlap
// CHECK: npu.rows of %x
// CHECK-NEXT: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "c", npu.ring = 3 : i64}
// CHECK-NEXT: npu.max_pool2d {{.*}} kernel [3, 3] strides [2, 2] {npu.layer = "c_pool", npu.value = "v", npu.ring = 1 : i64}
// CHECK-NEXT: npu.relu
// CHECK-NEXT: npu.yield
// NEEDED-LABEL: func.func @overlap
// The pool needs less than convolution and pool in rows: a relu behind it changes no peak.
// SMALLEST-LABEL: func.func @overlap
// SMALLEST-NOT: npu.rows
// BUFFERS-LABEL: func.func @overlap
func.func @overlap(%x : tensor<1x1x9x9xf32>, %w : tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %0 = npu.conv2d %x, %w then relu then max_pool [3, 3] by [2, 2] overlap accumulate {npu.layer = "c", npu.value = "v"} : (tensor<1x1x9x9xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = npu.relu %0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %1 : tensor<1x2x4x4xf32>
}

// -----

// A map that is read twice, and a layer that needs all rows, end a chain; one layer is none.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: npu.rows
// CHECK: func.return
// NEEDED-LABEL: func.func @left_alone
// NEEDED-NOT: npu.rows
// NEEDED: func.return
// SMALLEST-LABEL: func.func @left_alone
// BUFFERS-LABEL: func.func @left_alone
func.func @left_alone(%x : tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.softmax %0 axis 2 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %2 = npu.relu %1 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %3 = npu.add %0, %2 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %2, %3 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// Attention runs one query at a time: the scores of all queries never exist. A layer of two maps
// streams the one that the layer before it computes.
// CHECK-LABEL: func.func @attention
// CHECK:       npu.rows of %q
// CHECK:         npu.matmul %q, %k transposed_rhs {npu.ring = 1 : i64}
// CHECK:         npu.add %mask, %{{.*}} {npu.ring = 1 : i64}
// CHECK:         npu.softmax %{{.*}} axis 2 {npu.ring = 1 : i64}
// CHECK:         npu.matmul %{{.*}}, %v
// CHECK:         npu.yield
func.func @attention(%q: tensor<2x30x4xf32>, %k: tensor<2x30x4xf32>, %v: tensor<2x30x4xf32>, %mask: tensor<30x30xf32>) -> tensor<2x30x4xf32> {
  %0 = npu.matmul %q, %k transposed_rhs : (tensor<2x30x4xf32>, tensor<2x30x4xf32>) -> tensor<2x30x30xf32>
  %1 = npu.add %mask, %0 : (tensor<30x30xf32>, tensor<2x30x30xf32>) -> tensor<2x30x30xf32>
  %2 = npu.softmax %1 axis 2 : tensor<2x30x30xf32> -> tensor<2x30x30xf32>
  %3 = npu.matmul %2, %v : (tensor<2x30x30xf32>, tensor<2x30x4xf32>) -> tensor<2x30x4xf32>
  func.return %3 : tensor<2x30x4xf32>
}

// Between layers, reshapes keep the rows.
// CHECK-LABEL: func.func @dense
// CHECK:       npu.rows of %x
// CHECK:         npu.normalize
// CHECK:         npu.reshape %{{.*}} : tensor<1x9x4xf32> -> tensor<9x4xf32>
// CHECK:         npu.fully_connected {{.*}} -> tensor<9x40xf32>
// CHECK:         npu.fully_connected {{.*}} -> tensor<9x4xf32>
// CHECK:         npu.reshape
// CHECK:         npu.add %x, %{{.*}}
func.func @dense(%x: tensor<1x9x4xf32>, %w: tensor<40x4xf32>, %u: tensor<4x40xf32>) -> tensor<1x9x4xf32> {
  %0 = npu.normalize %x axes [2] epsilon 1.0e-05 : tensor<1x9x4xf32> -> tensor<1x9x4xf32>
  %1 = npu.reshape %0 : tensor<1x9x4xf32> -> tensor<9x4xf32>
  %2 = npu.fully_connected %1, %w : (tensor<9x4xf32>, tensor<40x4xf32>) -> tensor<9x40xf32>
  %3 = npu.fully_connected %2, %u : (tensor<9x40xf32>, tensor<4x40xf32>) -> tensor<9x4xf32>
  %4 = npu.reshape %3 : tensor<9x4xf32> -> tensor<1x9x4xf32>
  %5 = npu.add %x, %4 : (tensor<1x9x4xf32>, tensor<1x9x4xf32>) -> tensor<1x9x4xf32>
  func.return %5 : tensor<1x9x4xf32>
}

// -----

// Each row of the map before is computed once, for two rows of the map that grows and one above it.
// CHECK-LABEL: func.func @grows
// CHECK: npu.rows of %x
// CHECK-NEXT: npu.relu
// CHECK-NEXT: npu.pick {{.*}} axis 2 [0 to 3 each 2]
// CHECK-NEXT: npu.pick {{.*}} axis 2 [none, 0 to 7] axis 3 [none, 0 to 3] fill 1.0
// NEEDED-LABEL: func.func @grows
// SMALLEST-LABEL: func.func @grows
// BUFFERS-LABEL: func.func @grows
// BUFFERS: %turn = arith.floordivsi
// BUFFERS: arith.remui
// BUFFERS: scf.if
// BUFFERS: npu.relu
// BUFFERS: npu.pick ins(%{{.*}} : memref<1x1x1x4xf32{{.*}}) outs({{.*}}) axis 2 [0]
// BUFFERS: npu.pick ins(%{{.*}} : memref<1x1x1x4xf32{{.*}}) outs({{.*}}) axis 2 [0] axis 3 [none, 0 to 3] fill 1.0
func.func @grows(%x : tensor<1x1x4x4xf32>) -> tensor<1x1x9x5xf32> {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.pick %0 axis 2 [0 to 3 each 2] : tensor<1x1x4x4xf32> -> tensor<1x1x8x4xf32>
  %2 = npu.pick %1 axis 2 [none, 0 to 7] axis 3 [none, 0 to 3] fill 1.0 : tensor<1x1x8x4xf32> -> tensor<1x1x9x5xf32>
  func.return %2 : tensor<1x1x9x5xf32>
}

// -----

// Blocks of 2 x 2 need both of their rows at once. Blocks of one element run row by row.
// CHECK-LABEL: func.func @blocks
// CHECK-NOT: npu.rows
// CHECK: npu.prune_zero_blocks {{.*}} block 2
// CHECK: npu.rows of
// CHECK-NEXT: npu.prune_zero_blocks {{.*}} block 1
// NEEDED-LABEL: func.func @blocks
// SMALLEST-LABEL: func.func @blocks
// BUFFERS-LABEL: func.func @blocks
func.func @blocks(%x : tensor<1x1x8x8xf32>, %w : tensor<2x1x3x3xf32>, %v : tensor<1x2x1x1xf32>) -> tensor<1x1x6x6xf32> {
  %0 = npu.conv2d %x, %w : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32>
  %1 = npu.prune_zero_blocks %0 block 2 threshold 0.1 : tensor<1x2x6x6xf32> -> tensor<1x2x6x6xf32>
  %2 = npu.prune_zero_blocks %1 block 1 threshold 0.1 : tensor<1x2x6x6xf32> -> tensor<1x2x6x6xf32>
  %3 = npu.conv2d %2, %v : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x6x6xf32>
  func.return %3 : tensor<1x1x6x6xf32>
}
