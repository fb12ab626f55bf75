// RUN: npu-opt %s --pass-pipeline=npu-fuse-conv-relu-pool | filecheck %s

// CHECK-LABEL: func.func @epilogue
// CHECK: zero_points [3, 0] then requantize scales [0.01, 0.02] zero_point -128 mode float then clamp [-128.0, 5.0] then max_pool [2, 2] by [2, 2] {npu.layer = "c", npu.value = "p"} : (tensor<1x1x8x8xi8>, tensor<2x1x3x3xi8>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: func.return
func.func @epilogue(%x: tensor<1x1x8x8xi8>, %w: tensor<2x1x3x3xi8>) -> tensor<1x2x3x3xi8> {
  %s = npu.conv2d %x, %w zero_points [3, 0] {npu.layer = "c"} : (tensor<1x1x8x8xi8>, tensor<2x1x3x3xi8>) -> tensor<1x2x6x6xi32>
  %q = npu.requantize %s scales [0.01, 0.02] zero_points [0, -128] mode float : tensor<1x2x6x6xi32> -> tensor<1x2x6x6xi8>
  %c = npu.clamp %q low -128.0 high 5.0 : tensor<1x2x6x6xi8> -> tensor<1x2x6x6xi8>
  %p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] {npu.layer = "p", npu.value = "p"} : tensor<1x2x6x6xi8> -> tensor<1x2x3x3xi8>
  func.return %p : tensor<1x2x3x3xi8>
}

// A ReLU of sums becomes a clamp at the zero point behind the requantisation, which moves before the pool.
// CHECK-LABEL: func.func @order
// CHECK: then requantize scales [0.5] zero_point 7 mode fixed then clamp [7.0, inf] then max_pool [3, 3] by [3, 3] :
func.func @order(%x: tensor<1x1x8x8xui8>, %w: tensor<2x1x3x3xi8>) -> tensor<1x2x2x2xui8> {
  %s = npu.conv2d %x, %w zero_points [3, 0] : (tensor<1x1x8x8xui8>, tensor<2x1x3x3xi8>) -> tensor<1x2x6x6xi32>
  %r = npu.relu %s : tensor<1x2x6x6xi32> -> tensor<1x2x6x6xi32>
  %p = npu.max_pool2d %r kernel [3, 3] strides [3, 3] : tensor<1x2x6x6xi32> -> tensor<1x2x2x2xi32>
  %q = npu.requantize %p scales [0.5] zero_points [0, 7] mode fixed : tensor<1x2x2x2xi32> -> tensor<1x2x2x2xui8>
  func.return %q : tensor<1x2x2x2xui8>
}

// CHECK-LABEL: func.func @dense
// CHECK: npu.fully_connected %x, %w zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then relu :
func.func @dense(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>) -> tensor<1x4xi8> {
  %s = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi32>
  %q = npu.requantize %s scales [0.5] zero_points [0, 0] mode float : tensor<1x4xi32> -> tensor<1x4xi8>
  %r = npu.relu %q : tensor<1x4xi8> -> tensor<1x4xi8>
  func.return %r : tensor<1x4xi8>
}

// A second scale, a divisor, a clamp of sums at a number other than zero: these stay layers.
// CHECK-LABEL: func.func @apart
// CHECK: then requantize scales [0.5] zero_point 0 mode float :
// CHECK-NEXT: npu.requantize
// CHECK-NEXT: zero_points [0, 0] :
// CHECK-NEXT: npu.requantize {{.*}} divisor
// CHECK-NEXT: zero_points [0, 0] then clamp [0.0, 9.0] :
// CHECK-NEXT: npu.requantize
func.func @apart(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) {
  %s = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi32>
  %q = npu.requantize %s scales [0.5] zero_points [0, 0] mode float : tensor<1x4xi32> -> tensor<1x4xi8>
  %r = npu.requantize %q scales [0.5] zero_points [0, 0] mode float : tensor<1x4xi8> -> tensor<1x4xi8>
  %t = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi32>
  %u = npu.requantize %t scales [0.5] divisor 0.3 zero_points [0, 0] mode float : tensor<1x4xi32> -> tensor<1x4xi8>
  %v = npu.fully_connected %x, %w zero_points [0, 0] : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi32>
  %c = npu.clamp %v low 0.0 high 9.0 : tensor<1x4xi32> -> tensor<1x4xi32>
  %d = npu.requantize %c scales [0.5] zero_points [0, 0] mode float : tensor<1x4xi32> -> tensor<1x4xi8>
  func.return %r, %u, %d : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}
