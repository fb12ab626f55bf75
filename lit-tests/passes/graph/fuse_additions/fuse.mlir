// RUN: npu-opt %s -p npu-fuse-additions | filecheck %s

// The residual block of a ResNet; the layer is the convolution, the value the last layer's.
// CHECK-LABEL: func.func @block
// CHECK-NEXT: %y = npu.conv2d %x, %w, %b, %x strides [1, 1] pads [1, 1, 1, 1] then add residual first then relu {npu.layer = "c", npu.value = "r_out"} :
// CHECK-NEXT: func.return %y
func.func @block(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>, %b: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %c = npu.conv2d %x, %w, %b pads [1, 1, 1, 1] {npu.layer = "c", npu.value = "c_out"} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %x, %c {npu.layer = "s", npu.value = "s_out"} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = npu.relu %s {npu.layer = "r", npu.value = "r_out"} : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// Integers: what the convolution has been fused with before stays in front of the addition.
// CHECK-LABEL: func.func @integers
// CHECK-NEXT: %u = npu.conv2d %x, %w, %r {{.*}} zero_points [3, 0] then requantize scales [0.01] zero_point 3 mode fixed then clamp [3.0, inf] then add residual second scales [0.1, 0.2, 0.3] zero_points [3, 255, 0] mode qlinear then clamp [-5.0, 9.0] :
// CHECK-NEXT: func.return %u
func.func @integers(%x: tensor<1x2x4x4xi8>, %w: tensor<2x2x1x1xi8>, %r: tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xi8> {
  %c = npu.conv2d %x, %w zero_points [3, 0] then requantize scales [0.01] zero_point 3 mode fixed then clamp [3.0, inf] : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>) -> tensor<1x2x4x4xi8>
  %s = npu.quantized_add %c, %r scales [0.1, 0.2, 0.3] zero_points [3, 255, 0] mode qlinear : (tensor<1x2x4x4xi8>, tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xi8>
  %l = npu.clamp %s low -5.0 high inf : tensor<1x2x4x4xi8> -> tensor<1x2x4x4xi8>
  %u = npu.clamp %l low -inf high 9.0 : tensor<1x2x4x4xi8> -> tensor<1x2x4x4xi8>
  func.return %u : tensor<1x2x4x4xi8>
}

// Of two convolutions the later one adds, whichever operand it is.
// CHECK-LABEL: func.func @two
// CHECK-NEXT: %a = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] :
// CHECK-NEXT: npu.conv2d %x, %v, %a {{.*}} then add residual second :
// CHECK-NEXT: func.return
func.func @two(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %v: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %a = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = npu.conv2d %x, %v : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = npu.add %b, %a : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %s : tensor<1x2x4x4xf32>
}

// The convolution moves behind what it adds, and no further.
// CHECK-LABEL: func.func @moves
// CHECK-NEXT: %p = npu.max_pool2d %x
// CHECK-NEXT: npu.conv2d %x, %w, %p {{.*}} then add residual second :
// CHECK-NEXT: npu.relu %x
func.func @moves(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %c = npu.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %p = npu.max_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %o = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %s = npu.add %c, %p : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %s, %o : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}
