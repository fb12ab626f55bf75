// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=always}' | filecheck %s

// A map of linalg that is added to a function of it: its rows are kept until both readers have read them.
// CHECK-LABEL: func.func @block
// CHECK: %d = npu.rows of %x
// CHECK-NEXT: %c = npu.computed %x, %w {npu.row_time = array<i64: 1, 0>, npu.ring = 1 : i64}
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK: %b = npu.computed %c {npu.row_time = array<i64: 1, 0>, npu.ring = 0 : i64}
// CHECK: %s = npu.computed %c, %b {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK: npu.computed %s, %w {npu.row_time = array<i64: 1, 2>}
func.func @block(%x: tensor<1x3x9x9xf32>) -> tensor<1x3x5x5xf32> {
  %w = arith.constant dense<0.5> : tensor<3x3x3x3xf32>
  %e = tensor.empty() : tensor<1x3x7x7xf32>
  %f = tensor.empty() : tensor<1x3x5x5xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x3x9x9xf32>, tensor<3x3x3x3xf32>) outs(%e : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %b = linalg.exp ins(%c : tensor<1x3x7x7xf32>) outs(%e : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %s = linalg.add ins(%c, %b : tensor<1x3x7x7xf32>, tensor<1x3x7x7xf32>) outs(%e : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %d = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%s, %w : tensor<1x3x7x7xf32>, tensor<3x3x3x3xf32>) outs(%f : tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32>
  func.return %d : tensor<1x3x5x5xf32>
}
