// RUN: npu-opt %s --pass-pipeline=npu-fold-zero-points | filecheck %s

// It rejects nothing: a layer whose zero point cannot be folded keeps it.

// b' = [10, 20] - 3 * ([1 + 2 + 3, -1 - 1 - 1] - 3 * 1)
// CHECK-LABEL: func.func @dense
// CHECK: %b = arith.constant dense<[1, 38]> : tensor<2xi32>
// CHECK-NEXT: npu.fully_connected %x, %w, %b zero_points [0, 1] then requantize scales [0.5] zero_point 0 mode float {npu.layer = "fc"} :
func.func @dense(%x: tensor<1x3xi8>) -> tensor<1x2xi8> {
  %w = arith.constant dense<[[1, 2, 3], [-1, -1, -1]]> : tensor<2x3xi8>
  %b = arith.constant dense<[10, 20]> : tensor<2xi32>
  %y = npu.fully_connected %x, %w, %b zero_points [3, 1] then requantize scales [0.5] zero_point 0 mode float {npu.layer = "fc"} : (tensor<1x3xi8>, tensor<2x3xi8>, tensor<2xi32>) -> tensor<1x2xi8>
  func.return %y : tensor<1x2xi8>
}

// A layer without bias gets one; splats have their size.
// CHECK-LABEL: func.func @conv
// CHECK: %w_1 = arith.constant dense<-1536> : tensor<2xi32>
// CHECK-NEXT: npu.conv2d %x, %w, %w_1 strides [2, 1] pads [0, 0, 0, 0] zero_points [0, 0] :
func.func @conv(%x: tensor<1x1x8x8xui8>) -> tensor<1x2x4x6xi32> {
  %w = arith.constant dense<2> : tensor<2x1x2x3xi8>
  %y = npu.conv2d %x, %w strides [2, 1] zero_points [128, 0] : (tensor<1x1x8x8xui8>, tensor<2x1x2x3xi8>) -> tensor<1x2x4x6xi32>
  func.return %y : tensor<1x2x4x6xi32>
}

// Padding, weights that are not known, no zero point: these stay.
// CHECK-LABEL: func.func @stays
// CHECK: pads [0, 1, 0, 0] zero_points [3, 0]
// CHECK: npu.fully_connected %v, %u zero_points [3, 0]
// CHECK: npu.fully_connected %v, %k zero_points [0, 5] :
// CHECK: npu.fully_connected %f, %g :
func.func @stays(%x: tensor<1x1x8x8xi8>, %v: tensor<1x3xi8>, %u: tensor<2x3xi8>, %f: tensor<1x3xf32>, %g: tensor<2x3xf32>) {
  %w = arith.constant dense<2> : tensor<2x1x2x3xi8>
  %k = arith.constant dense<2> : tensor<2x3xi8>
  %a = npu.conv2d %x, %w pads [0, 1, 0, 0] zero_points [3, 0] : (tensor<1x1x8x8xi8>, tensor<2x1x2x3xi8>) -> tensor<1x2x7x7xi32>
  %b = npu.fully_connected %v, %u zero_points [3, 0] : (tensor<1x3xi8>, tensor<2x3xi8>) -> tensor<1x2xi32>
  %c = npu.fully_connected %v, %k zero_points [0, 5] : (tensor<1x3xi8>, tensor<2x3xi8>) -> tensor<1x2xi32>
  %d = npu.fully_connected %f, %g : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  func.return
}

// A residual stays what it is.
// CHECK-LABEL: func.func @residual
// CHECK: arith.constant dense<384> : tensor<1xi32>
// CHECK-NEXT: npu.conv2d %x, %w, %w_{{[0-9]+}}, %x {{.*}} zero_points [0, 0] {{.*}} then add residual first
func.func @residual(%x: tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xi8> {
  %w = arith.constant dense<3> : tensor<1x1x1x1xi8>
  %y = npu.conv2d %x, %w, %x zero_points [-128, 0] then requantize scales [0.5] zero_point 0 mode float then add residual first scales [0.5, 0.5, 0.5] zero_points [0, 0, 0] mode float : (tensor<1x1x2x2xi8>, tensor<1x1x1x1xi8>, tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xi8>
  func.return %y : tensor<1x1x2x2xi8>
}
