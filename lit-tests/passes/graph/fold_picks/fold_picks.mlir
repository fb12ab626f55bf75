// RUN: npu-opt %s --pass-pipeline=npu-fold-picks | filecheck %s

// Zeros around a map become pads of the convolution; with zero points, so does the zero point.
// CHECK-LABEL: func.func @pads
// CHECK:       npu.conv2d %x, %w strides [1, 1] pads [1, 3, 1, 0] {npu.layer = "c"} : (tensor<1x1x4x4xf32>
// CHECK:       npu.conv2d %q, %v strides [1, 1] pads [1, 0, 0, 0] zero_points [7, 0] : (tensor<1x1x4x4xi8>
// CHECK-NOT:   npu.pick
func.func @pads(%x: tensor<1x1x4x4xf32>, %q: tensor<1x1x4x4xi8>) -> (tensor<1x1x4x5xf32>, tensor<1x1x3x2xi32>) {
  %w = arith.constant dense<1.0> : tensor<1x1x3x3xf32>
  %v = arith.constant dense<1> : tensor<1x1x3x3xi8>
  %p = npu.pick %x axis 2 [none, 0 to 3, none] axis 3 [none each 2, 0 to 3] fill 0.0 : tensor<1x1x4x4xf32> -> tensor<1x1x6x6xf32>
  %y = npu.conv2d %p, %w strides [1, 1] pads [0, 1, 0, 0] {npu.layer = "c"} : (tensor<1x1x6x6xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x5xf32>
  %r = npu.pick %q axis 2 [none, 0 to 3] fill 7.0 : tensor<1x1x4x4xi8> -> tensor<1x1x5x4xi8>
  %z = npu.conv2d %r, %v strides [1, 1] pads [0, 0, 0, 0] zero_points [7, 0] : (tensor<1x1x5x4xi8>, tensor<1x1x3x3xi8>) -> tensor<1x1x3x2xi32>
  func.return %y, %z : tensor<1x1x4x5xf32>, tensor<1x1x3x2xi32>
}

// A max pool takes pads of the least number, if no window lies on padding only.
// CHECK-LABEL: func.func @max_pool
// CHECK:       npu.max_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] :
// CHECK:       npu.pick
// CHECK:       npu.max_pool2d
func.func @max_pool(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x5x4xf32>) {
  %p = npu.pick %x axis 2 [none, 0 to 3, none] axis 3 [none, 0 to 3, none] fill -inf : tensor<1x1x4x4xf32> -> tensor<1x1x6x6xf32>
  %y = npu.max_pool2d %p kernel [3, 3] strides [1, 1] : tensor<1x1x6x6xf32> -> tensor<1x1x4x4xf32>
  %q = npu.pick %x axis 2 [none each 2, 0 to 3] fill -inf : tensor<1x1x4x4xf32> -> tensor<1x1x6x4xf32>
  %z = npu.max_pool2d %q kernel [2, 1] strides [1, 1] : tensor<1x1x6x4xf32> -> tensor<1x1x5x4xf32>
  func.return %y, %z : tensor<1x1x4x4xf32>, tensor<1x1x5x4xf32>
}

// A 1x1 convolution is computed before its input grows, and so is what it can take in.
// CHECK-LABEL: func.func @pointwise
// CHECK:       %[[C:.*]] = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "c"} : (tensor<1x2x4x4xf32>
// CHECK-NEXT:  %[[R:.*]] = npu.relu %[[C]]
// CHECK-NEXT:  %r = npu.pick %[[R]] axis 2 [0 to 3 each 2] axis 3 [0 to 3 each 2] {npu.value = "r"} : tensor<1x1x4x4xf32> -> tensor<1x1x8x8xf32>
// CHECK-NEXT:  func.return
func.func @pointwise(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x8x8xf32> {
  %w = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %u = npu.pick %x axis 2 [0 to 3 each 2] axis 3 [0 to 3 each 2] : tensor<1x2x4x4xf32> -> tensor<1x2x8x8xf32>
  %y = npu.conv2d %u, %w strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "c", npu.value = "c"} : (tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x8x8xf32>
  %r = npu.relu %y {npu.value = "r"} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  func.return %r : tensor<1x1x8x8xf32>
}

// So it is before interpolation, but an activation is not.
// CHECK-LABEL: func.func @linear
// CHECK:       npu.conv2d %x
// CHECK-NEXT:  npu.resample %{{.*}} axis 2 size 8
// CHECK-NEXT:  npu.relu
func.func @linear(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x8x4xf32> {
  %w = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %u = npu.resample %x axis 2 size 8 scale 0.5 offset -0.25 : tensor<1x2x4x4xf32> -> tensor<1x2x8x4xf32>
  %y = npu.conv2d %u, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x8x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x8x4xf32>
  %r = npu.relu %y : tensor<1x1x8x4xf32> -> tensor<1x1x8x4xf32>
  func.return %r : tensor<1x1x8x4xf32>
}

// Of the taps [1, 2, 3], the last two meet one element in even columns, the first two in odd ones.
// CHECK-LABEL: func.func @phases
// CHECK:       %w = arith.constant dense<[{{\[\[\[}}1.000000e+00, 5.000000e+00]]]]>
// CHECK:       %w_1 = arith.constant dense<3.000000e+00> : tensor<1x1x1x2xf32>
// CHECK:       %[[EVEN:.*]] = npu.conv2d %x, %w strides [1, 1] pads [0, 1, 0, 0] : (tensor<1x1x1x4xf32>
// CHECK:       %[[ODD:.*]] = npu.conv2d %x, %w_1 strides [1, 1] pads [0, 0, 0, 1] : (tensor<1x1x1x4xf32>
// CHECK:       npu.relu %[[EVEN]]
// CHECK:       npu.relu %[[ODD]]
// CHECK-NEXT:  npu.interleave {{.*}} steps [1, 1, 1, 2]
// CHECK-NEXT:  func.return
func.func @phases(%x: tensor<1x1x1x4xf32>) -> tensor<1x1x1x8xf32> {
  %w = arith.constant dense<[[[[1.0, 2.0, 3.0]]]]> : tensor<1x1x1x3xf32>
  %u = npu.pick %x axis 3 [0 to 3 each 2] : tensor<1x1x1x4xf32> -> tensor<1x1x1x8xf32>
  %y = npu.conv2d %u, %w strides [1, 1] pads [0, 1, 0, 1] : (tensor<1x1x1x8xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x8xf32>
  %r = npu.relu %y : tensor<1x1x1x8xf32> -> tensor<1x1x1x8xf32>
  func.return %r : tensor<1x1x1x8xf32>
}

// Nothing folds: sums of quantised weights, pads of another number, maps with a second reader,
// other elements, a map that gets smaller.
// CHECK-LABEL: func.func @not_folded
// CHECK-COUNT-5: npu.pick
func.func @not_folded(%q: tensor<1x1x1x4xi8>, %x: tensor<1x1x1x4xf32>) -> (tensor<1x1x1x6xi32>, tensor<1x1x1x4xf32>, tensor<1x1x1x6xf32>, tensor<1x1x1x8xf32>, tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>) {
  %v = arith.constant dense<1> : tensor<1x1x1x3xi8>
  %w = arith.constant dense<1.0> : tensor<1x1x1x3xf32>
  %one = arith.constant dense<1.0> : tensor<1x1x1x1xf32>
  %0 = npu.pick %q axis 3 [0 to 3 each 2] : tensor<1x1x1x4xi8> -> tensor<1x1x1x8xi8>
  %1 = npu.conv2d %0, %v strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] : (tensor<1x1x1x8xi8>, tensor<1x1x1x3xi8>) -> tensor<1x1x1x6xi32>
  %2 = npu.pick %x axis 3 [none, 0 to 3, none] fill 1.0 : tensor<1x1x1x4xf32> -> tensor<1x1x1x6xf32>
  %3 = npu.conv2d %2, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x6xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x4xf32>
  %4 = npu.pick %x axis 3 [0 to 3 each 2] : tensor<1x1x1x4xf32> -> tensor<1x1x1x8xf32>
  %5 = npu.conv2d %4, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x8xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x6xf32>
  %6 = npu.pick %x axis 3 [0 to 3] : tensor<1x1x1x4xf32> -> tensor<1x1x1x4xf32>
  %7 = npu.pick %6 axis 3 [3 to 0] : tensor<1x1x1x4xf32> -> tensor<1x1x1x4xf32>
  %8 = npu.conv2d %7, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x4xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x2xf32>
  %9 = npu.resample %x axis 3 size 2 scale 2.0 offset 0.5 : tensor<1x1x1x4xf32> -> tensor<1x1x1x2xf32>
  // CHECK: npu.resample
  // CHECK-NEXT: npu.conv2d
  %10 = npu.conv2d %9, %one strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x2xf32>
  func.return %1, %3, %5, %4, %8, %10 : tensor<1x1x1x6xi32>, tensor<1x1x1x4xf32>, tensor<1x1x1x6xf32>, tensor<1x1x1x8xf32>, tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>
}
