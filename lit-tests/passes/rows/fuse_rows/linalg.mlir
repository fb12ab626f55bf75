// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fuse-rows{when=always})' | filecheck %s

// Ops of linalg run row by row with layers: their indices say which rows they need. What does not, stays as it was.

// CHECK-LABEL: func.func @network
// CHECK: npu.rows of %x
// CHECK-NEXT: %c = npu.computed %x, %w, %start {npu.ring = 1 : i64}
// CHECK: npu.relu %c {npu.ring = 5 : i64}
// CHECK-NEXT: npu.computed %r, %v
// CHECK: %f = tensor.empty
// CHECK-NEXT: linalg.transpose ins({{.*}}) outs(%f:
// CHECK-SAME: permutation
// CHECK-NOT: npu.computed
func.func @network(%x: tensor<1x2x9x9xf32>, %start: tensor<1x3x7x7xf32>) -> tensor<1x5x2x3xf32> {
  %w = arith.constant dense<0.5> : tensor<3x2x3x3xf32>
  %v = arith.constant dense<0.5> : tensor<2x3x2x3xf32>
  %e = tensor.empty() : tensor<1x2x3x5xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x2x9x9xf32>, tensor<3x2x3x3xf32>) outs(%start : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %r = npu.relu %c : tensor<1x3x7x7xf32> -> tensor<1x3x7x7xf32>
  %d = linalg.conv_2d_nchw_fchw {dilations = dense<[4, 1]> : tensor<2xi64>, strides = dense<[1, 1]> : tensor<2xi64>} ins(%r, %v : tensor<1x3x7x7xf32>, tensor<2x3x2x3xf32>) outs(%e : tensor<1x2x3x5xf32>) -> tensor<1x2x3x5xf32>
  %f = tensor.empty() : tensor<1x5x2x3xf32>
  %t = linalg.transpose ins(%d : tensor<1x2x3x5xf32>) outs(%f : tensor<1x5x2x3xf32>) permutation = [0, 3, 1, 2]

  func.return %t : tensor<1x5x2x3xf32>
}
