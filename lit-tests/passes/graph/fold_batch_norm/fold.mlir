// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fold-batch-norm)' | filecheck %s

// f = scale / sqrt(variance) = [2, 3]; W' = f W; b' = f (b - mean) + bias. Nothing else is left.
// CHECK-LABEL: func.func @conv
// CHECK-DAG: [[W:%\w+]] = arith.constant dense<[{{\[\[\[}}2.000000e+00]]], {{\[\[\[}}6.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-DAG: [[B:%\w+]] = arith.constant dense<[1.050000e+01, 2.350000e+01]> : tensor<2xf32>
// CHECK-NOT: arith.constant
// CHECK: [[Y:%\w+]] = npu.conv2d %x, [[W]], [[B]] strides [2, 2] pads [0, 0, 0, 0] {npu.layer = "c1", npu.value = "n1_out"} :
// CHECK-NEXT: func.return [[Y]]
func.func @conv(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %b = arith.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %scale = arith.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %bias = arith.constant dense<[1.5, 3.5]> : tensor<2xf32>
  %mean = arith.constant dense<[0.5, 0.333333343]> : tensor<2xf32>
  %variance = arith.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %c = npu.conv2d %x, %w, %b strides [2, 2] pads [0, 0, 0, 0] {npu.layer = "c1", npu.value = "c1_out"} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %n = npu.batch_norm %c, %scale, %bias, %mean, %variance epsilon 0.0 {npu.layer = "n1", npu.value = "n1_out"} : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %n : tensor<1x2x2x2xf32>
}

// Without a bias there is one afterwards; constants that somebody else uses stay.
// CHECK-LABEL: func.func @fully_connected
// CHECK: [[V:%\w+]] = arith.constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK-DAG: [[W:%\w+]] = arith.constant dense<5.000000e-01> : tensor<2x3xf32>
// CHECK-DAG: [[B:%\w+]] = arith.constant dense<5.000000e-01> : tensor<2xf32>
// CHECK-NOT: npu.batch_norm
// CHECK: npu.fully_connected %x, [[W]], [[B]] :
// CHECK: npu.fully_connected %x, [[V]] :
func.func @fully_connected(%x: tensor<1x3xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x3xf32>
  %one = arith.constant dense<1.0> : tensor<2xf32>
  %f = npu.fully_connected %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %n = npu.batch_norm %f, %one, %one, %one, %one epsilon 3.0 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %g = npu.fully_connected %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  func.return %n, %g : tensor<1x2xf32>, tensor<1x2xf32>
}

// Two in a row: both go.
// CHECK-LABEL: func.func @twice
// CHECK: arith.constant dense<4.000000e+00> : tensor<1x1xf32>
// CHECK-NOT: npu.batch_norm
// CHECK: npu.fully_connected
// CHECK-NEXT: func.return
func.func @twice(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %w = arith.constant dense<1.0> : tensor<1x1xf32>
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %f = npu.fully_connected %x, %w : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %n = npu.batch_norm %f, %two, %one, %one, %one epsilon 0.0 : (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  %m = npu.batch_norm %n, %two, %one, %one, %one epsilon 0.0 : (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  func.return %m : tensor<1x1xf32>
}

// Two in a row behind something else become one: 4 / 2 * 3 = 6, and 3 * (1 - 0.5) + 2 = 3.5.
// CHECK-LABEL: func.func @two_become_one
// CHECK-DAG: [[S:%\w+]] = arith.constant dense<6.000000e+00> : tensor<2xf32>
// CHECK-DAG: [[B:%\w+]] = arith.constant dense<3.500000e+00> : tensor<2xf32>
// CHECK-DAG: [[M:%\w+]] = arith.constant dense<7.000000e+00> : tensor<2xf32>
// CHECK-DAG: [[V:%\w+]] = arith.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-NOT: arith.constant
// CHECK: [[N:%\w+]] = npu.batch_norm %x, [[S]], [[B]], [[M]], [[V]] epsilon 0.0 {npu.layer = "n1", npu.value = "n2_out"}
// CHECK-NEXT: func.return [[N]]
func.func @two_become_one(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %s = arith.constant dense<4.0> : tensor<2xf32>
  %b = arith.constant dense<1.0> : tensor<2xf32>
  %m = arith.constant dense<7.0> : tensor<2xf32>
  %v = arith.constant dense<3.0> : tensor<2xf32>
  %t = arith.constant dense<3.0> : tensor<2xf32>
  %c = arith.constant dense<2.0> : tensor<2xf32>
  %n = arith.constant dense<0.5> : tensor<2xf32>
  %w = arith.constant dense<0.75> : tensor<2xf32>
  %1 = npu.batch_norm %x, %s, %b, %m, %v epsilon 1.0 {npu.layer = "n1", npu.value = "n1_out"} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %2 = npu.batch_norm %1, %t, %c, %n, %w epsilon 0.25 {npu.layer = "n2", npu.value = "n2_out"} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %2 : tensor<1x2x4x4xf32>
}

// Two layers with the same parameters still share them.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: arith.constant
// CHECK-NOT:   arith.constant
// CHECK:       npu.conv2d %x, %[[W:[a-z0-9_]+]], %[[B:[a-z0-9_]+]]
// CHECK-NEXT:  npu.conv2d %y, %[[W]], %[[B]]
func.func @shared(%x: tensor<1x1x2x2xf32>, %y: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %w = arith.constant dense<3.0> : tensor<1x1x1x1xf32>
  %s = arith.constant dense<2.0> : tensor<1xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %n = npu.batch_norm %c, %s, %s, %s, %s epsilon 0.0 : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %d = npu.conv2d %y, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %m = npu.batch_norm %d, %s, %s, %s, %s epsilon 0.0 : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  func.return %n, %m : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}
