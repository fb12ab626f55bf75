// RUN: npu-opt %s --pass-pipeline='builtin.module(default)' | filecheck %s --check-prefixes=DEFAULT,CHECK
// RUN: npu-opt %s -p unlu2020 | filecheck %s --check-prefixes=APART,CHECK
// RUN: npu-opt %s -p 'fused, canonicalize' | filecheck %s --check-prefixes=APART,CHECK
// RUN: npu-opt %s -p naive | filecheck %s --check-prefix=NAIVE
// RUN: npu-compile --list-pipelines | filecheck %s --check-prefix=LIST

// A named pipeline ends at loops over buffers in one arena; no layer is left.

// In the default one the output overwrites what is read of the input.

// CHECK-LABEL:   func.func @net
// DEFAULT-SAME:  sram.arena = 256 : i64
// APART-SAME:    sram.arena = 292 : i64
// CHECK-NOT:     npu.conv2d ins
// CHECK:         func.call
// CHECK:         func.func private
// CHECK-SAME:    npu.what = "npu.conv2d {{.*}} then relu then max_pool [2, 2] by [2, 2]"
// CHECK:         scf.for

// NAIVE-LABEL: func.func @net
// NAIVE-SAME:    sram.arena = 436 : i64
// NAIVE:         npu.what = "npu.conv2d
// NAIVE:         npu.what = "npu.relu
// NAIVE:         npu.what = "npu.max_pool2d

// LIST:       default: {{.+}}
// LIST-NEXT:    npu-split-conv-transpose,npu-fold-picks,npu-fuse-normalizations,npu-fold-batch-norm,npu-merge-layers,npu-fuse-conv-relu-pool{overlap=line-buffer},
// LIST-SAME:    npu-overlay-maps,npu-assign-memories,npu-tile-slow-maps,npu-assign-sram-offsets{strategy=greedy},npu-turn-layers,npu-outline-layers,npu-share-functions{before-lowering=true},npu-lower-to-loops,npu-share-constants,npu-share-functions,npu-check-overlays
// LIST:       unlu2020: {{.+}}
// LIST-NEXT:    npu-fuse-conv-relu-pool{overlap=none}
// LIST-SAME:    npu-assign-sram-offsets{strategy=ping-pong}
// LIST:       naive: {{.+}}
// LIST-NEXT:    npu-assign-sram-offsets{strategy=none}
func.func @net(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x3x3xf32> {
  %w = arith.constant dense<0.5> : tensor<1x1x3x3xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "c"} : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x6x6xf32>
  %r = npu.relu %c {npu.layer = "r"} : tensor<1x1x6x6xf32> -> tensor<1x1x6x6xf32>
  %p = npu.max_pool2d %r kernel [2, 2] strides [2, 2] {npu.layer = "p"} : tensor<1x1x6x6xf32> -> tensor<1x1x3x3xf32>
  func.return %p : tensor<1x1x3x3xf32>
}
