// RUN: npu-opt %s --pass-pipeline=npu-integer-io | filecheck %s

// It rejects nothing: a port that is not quantised at its edge keeps its type.

// CHECK-LABEL: func.func @both(%x: tensor<1x4xi8> {npu.name = "image", npu.scale = 5.000000e-01 : f32, npu.zero_point = 3 : i64}) -> (tensor<1x4xui8> {npu.name = "scores", npu.scale = 2.500000e-01 : f32, npu.zero_point = 128 : i64}) {
// CHECK-NEXT: %r = npu.requantize %x
// CHECK-NEXT: func.return %r : tensor<1x4xui8>
func.func @both(%x: tensor<1x4xf32> {npu.name = "image"}) -> (tensor<1x4xf32> {npu.name = "scores"}) {
  %q = npu.quantize %x scales [0.5] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
  %r = npu.requantize %q scales [0.5] divisor 0.25 zero_points [3, 128] mode float : tensor<1x4xi8> -> tensor<1x4xui8>
  %y = npu.dequantize %r scales [0.25] zero_point 128 : tensor<1x4xui8> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// An input that is read twice in the same way, and an output that is read inside, too.
// CHECK-LABEL: func.func @twice(%x: tensor<1x4xi8> {npu.scale = 5.000000e-01 : f32, npu.zero_point = 3 : i64}) -> (tensor<1x4xi8> {npu.scale = 5.000000e-01 : f32, npu.zero_point = 3 : i64}, tensor<1x4xf32>) {
// CHECK-NEXT: %y = npu.dequantize %x
// CHECK-NEXT: %z = npu.softmax %y
// CHECK-NEXT: func.return %x, %z
func.func @twice(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %q = npu.quantize %x scales [0.5] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
  %p = npu.quantize %x scales [0.5] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
  %y = npu.dequantize %q scales [0.5] zero_point 3 : tensor<1x4xi8> -> tensor<1x4xf32>
  %z = npu.softmax %y axis 1 : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %y, %z : tensor<1x4xf32>, tensor<1x4xf32>
}

// Two scales, a use as it is, sums with a scale for each channel: nothing changes.
// CHECK-LABEL: func.func @stays(%x: tensor<1x4xf32>, %u: tensor<1x4xf32>, %s: tensor<1x4xi32>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xf32>, tensor<1x4xf32>) {
// CHECK-NEXT: npu.quantize %x scales [0.5]
// CHECK-NEXT: npu.quantize %x scales [0.25]
// CHECK-NEXT: npu.quantize %u
// CHECK-NEXT: npu.dequantize %s
func.func @stays(%x: tensor<1x4xf32>, %u: tensor<1x4xf32>, %s: tensor<1x4xi32>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %q = npu.quantize %x scales [0.5] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
  %p = npu.quantize %x scales [0.25] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
  %v = npu.quantize %u scales [0.25] zero_point 3 : tensor<1x4xf32> -> tensor<1x4xi8>
  %y = npu.dequantize %s scales [0.1, 0.2, 0.3, 0.4] zero_point 0 : tensor<1x4xi32> -> tensor<1x4xf32>
  func.return %q, %p, %y, %u : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xf32>, tensor<1x4xf32>
}
