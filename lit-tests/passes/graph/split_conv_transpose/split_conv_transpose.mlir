// RUN: npu-opt %s --pass-pipeline=npu-split-conv-transpose | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-split-conv-transpose,npu-bufferize,npu-concat-in-place' | filecheck %s --check-prefix=BUFFERS

// The kernel [1, 2, 3] at stride 2: even outputs read the taps 3 and 1, odd ones the tap 2. Layers
// behind it that a convolution can take in are applied to both.
// CHECK-LABEL: func.func @phases
// CHECK-SAME:  (%x: tensor<1x1x1x4xf32>)
// CHECK-NEXT:  %w = arith.constant dense<[{{\[\[\[}}3.000000e+00, 1.000000e+00]]]]> : tensor<1x1x1x2xf32>
// CHECK-NEXT:  %w_1 = arith.constant dense<2.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-NEXT:  %0 = npu.conv2d %x, %w strides [1, 1] pads [0, 1, 0, 1] {npu.layer = "up"} : (tensor<1x1x1x4xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x1x5xf32>
// CHECK-NEXT:  %1 = npu.conv2d %x, %w_1 strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "up"} : (tensor<1x1x1x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x4xf32>
// CHECK-NEXT:  %2 = npu.relu %0 : tensor<1x1x1x5xf32> -> tensor<1x1x1x5xf32>
// CHECK-NEXT:  %3 = npu.relu %1 : tensor<1x1x1x4xf32> -> tensor<1x1x1x4xf32>
// CHECK-NEXT:  %r = npu.interleave %2, %3 steps [1, 1, 1, 2] {npu.value = "r"} : (tensor<1x1x1x5xf32>, tensor<1x1x1x4xf32>) -> tensor<1x1x1x9xf32>
// CHECK-NEXT:  func.return %r

// Each phase writes every second column of the output; nothing is copied.
// BUFFERS-LABEL: func.func @phases
// BUFFERS:       memref.subview %output[0, 0, 0, 0] [1, 1, 1, 5] [1, 1, 1, 2]
// BUFFERS:       memref.subview %output[0, 0, 0, 1] [1, 1, 1, 4] [1, 1, 1, 2]
// BUFFERS-NOT:   npu.interleave
func.func @phases(%x: tensor<1x1x1x4xf32>) -> tensor<1x1x1x9xf32> {
  %w = arith.constant dense<[[[[1.0, 2.0, 3.0]]]]> : tensor<1x1x1x3xf32>
  %y = npu.conv_transpose2d %x, %w strides [1, 2] {npu.layer = "up", npu.value = "y"} : (tensor<1x1x1x4xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x9xf32>
  %r = npu.relu %y {npu.value = "r"} : tensor<1x1x1x9xf32> -> tensor<1x1x1x9xf32>
  func.return %r : tensor<1x1x1x9xf32>
}

// With stride 1 there is one convolution, with the kernel turned round.
// CHECK-LABEL: func.func @one
// CHECK:       %w = arith.constant dense<[{{\[\[\[}}3, 2, 1]]]]> : tensor<1x1x1x3xi8>
// CHECK-NEXT:  %y = npu.conv2d %x, %w strides [1, 1] pads [0, 1, 0, 1] zero_points [7, 0] {npu.value = "y"} : (tensor<1x1x1x4xi8>, tensor<1x1x1x3xi8>) -> tensor<1x1x1x4xi32>
// CHECK-NEXT:  func.return %y
func.func @one(%x: tensor<1x1x1x4xi8>) -> tensor<1x1x1x4xi32> {
  %w = arith.constant dense<[[[[1, 2, 3]]]]> : tensor<1x1x1x3xi8>
  %y = npu.conv_transpose2d %x, %w pads [0, 1, 0, 1] zero_points [7, 0] {npu.value = "y"} : (tensor<1x1x1x4xi8>, tensor<1x1x1x3xi8>) -> tensor<1x1x1x4xi32>
  func.return %y : tensor<1x1x1x4xi32>
}

// No tap meets the odd outputs: all windows of their convolution lie on padding. The layer's value
// has a second user, so nothing moves in front of npu.interleave.
// CHECK-LABEL: func.func @without_taps
// CHECK:       npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1x4xf32>
// CHECK-NEXT:  npu.conv2d %x, %w_1, %b strides [2, 5] pads [1, 1, 0, 6] : (tensor<1x1x1x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1x3xf32>
// CHECK-NEXT:  npu.interleave
// CHECK-NEXT:  npu.relu
func.func @without_taps(%x: tensor<1x1x1x4xf32>, %b: tensor<1xf32>) -> (tensor<1x1x1x7xf32>, tensor<1x1x1x7xf32>) {
  %w = arith.constant dense<2.0> : tensor<1x1x1x1xf32>
  %y = npu.conv_transpose2d %x, %w, %b strides [1, 2] : (tensor<1x1x1x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1x7xf32>
  %r = npu.relu %y : tensor<1x1x1x7xf32> -> tensor<1x1x1x7xf32>
  func.return %y, %r : tensor<1x1x1x7xf32>, tensor<1x1x1x7xf32>
}

// The pad takes the first output away, so the first input adds to no even output.
// CHECK-LABEL: func.func @less_input
// CHECK:       %[[PART:.*]] = npu.slice %x offsets [0, 0, 0, 1] sizes [1, 1, 1, 3] : tensor<1x1x1x4xf32> -> tensor<1x1x1x3xf32>
// CHECK:       npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x4xf32>
// CHECK-NEXT:  npu.conv2d %[[PART]], %w_1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x1x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x3xf32>
func.func @less_input(%x: tensor<1x1x1x4xf32>) -> tensor<1x1x1x7xf32> {
  %w = arith.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %y = npu.conv_transpose2d %x, %w strides [1, 2] pads [0, 1, 0, 0] : (tensor<1x1x1x4xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x1x7xf32>
  func.return %y : tensor<1x1x1x7xf32>
}
