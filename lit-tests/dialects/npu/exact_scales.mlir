// RUN: NPU_ROUNDTRIP

// Scales that are exact multipliers have all their digits; those of other modes those of float32.

// CHECK-LABEL: func.func @exact
// CHECK: npu.requantize %s scales [0.00390625, 0.010423448831716087] zero_points [0, -3] mode half_up :
// CHECK: npu.requantize %m scales [0.5] zero_points [-3, 0] mode double_round : tensor<1x2x2x2xi8> -> tensor<1x2x2x2xi32>
// CHECK: npu.requantize %s scales [0.010423449] zero_points [0, 0] mode fixed :
// CHECK: then requantize scales [0.010423448831716087] zero_point 1 mode double_round then clamp [0.0, 9.0]
// CHECK: npu.quantized_avg_pool2d %m kernel [2, 2] strides [1, 1] scales [1.0, 1.0] zero_points [1, 2] mode half_up
// CHECK: npu.quantized_add %m, %m scales [524288.0, 0.010423448831716087, 0.00390625] zero_points [0, 3, -128] mode double_round
// CHECK: mode half_up then add residual first scales [0.25, 0.010423448831716087, 2.0] zero_points [0, 0, 0] mode half_up then clamp [0.0, 9.0]
func.func @exact(%s: tensor<1x2x2x2xi32>, %m: tensor<1x2x2x2xi8>, %w: tensor<4x2x1x1xi8>, %v: tensor<2x2x1x1xi8>) {
  %a = npu.requantize %s scales [0.00390625, 0.010423448831716087] zero_points [0, -3] mode half_up : tensor<1x2x2x2xi32> -> tensor<1x2x2x2xi8>
  %b = npu.requantize %m scales [0.5] zero_points [-3, 0] mode double_round : tensor<1x2x2x2xi8> -> tensor<1x2x2x2xi32>
  %c = npu.requantize %s scales [0.010423448831716087] zero_points [0, 0] mode fixed : tensor<1x2x2x2xi32> -> tensor<1x2x2x2xi8>
  %d = npu.conv2d %m, %w strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.010423448831716087] zero_point 1 mode double_round then clamp [0.0, 9.0] : (tensor<1x2x2x2xi8>, tensor<4x2x1x1xi8>) -> tensor<1x4x2x2xi8>
  %e = npu.quantized_avg_pool2d %m kernel [2, 2] strides [1, 1] scales [1.0, 1.0] zero_points [1, 2] mode half_up : tensor<1x2x2x2xi8> -> tensor<1x2x1x1xi8>
  %f = npu.quantized_add %m, %m scales [524288.0, 0.010423448831716087, 0.00390625] zero_points [0, 3, -128] mode double_round : (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8>
  %g = npu.conv2d %m, %v, %m strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode half_up then add residual first scales [0.25, 0.010423448831716087, 2.0] zero_points [0, 0, 0] mode half_up then clamp [0.0, 9.0] : (tensor<1x2x2x2xi8>, tensor<2x2x1x1xi8>, tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8>
  func.return
}
