// RUN: npu-opt %s --pass-pipeline=npu-requantize-mode | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-requantize-mode{mode=float}' | filecheck %s --check-prefix=FLOAT

// CHECK-LABEL: func.func @all
// FLOAT-LABEL: func.func @all
func.func @all(%x: tensor<1x8xi8>, %w: tensor<4x8xi8>, %m: tensor<1x1x4x4xi8>, %f: tensor<1x8xf32>, %k: tensor<1x1x1x1xi8>) {
  // CHECK: then requantize scales [0.5] zero_point 3 mode fixed then relu
  // FLOAT: then requantize scales [0.5] zero_point 3 mode float then relu
  %a = npu.fully_connected %x, %w zero_points [0, 0] then requantize scales [0.5] zero_point 3 mode float then relu : (tensor<1x8xi8>, tensor<4x8xi8>) -> tensor<1x4xi8>
  // CHECK: npu.requantize {{.*}} mode fixed
  // FLOAT: npu.requantize {{.*}} mode float
  %b = npu.requantize %x scales [0.5] zero_points [0, 3] mode fixed : tensor<1x8xi8> -> tensor<1x8xi8>
  // CHECK: npu.quantized_add {{.*}} mode fixed
  // FLOAT: npu.quantized_add {{.*}} mode float
  %c = npu.quantized_add %x, %b scales [0.5, 0.5, 0.5] zero_points [0, 3, 0] mode qlinear : (tensor<1x8xi8>, tensor<1x8xi8>) -> tensor<1x8xi8>
  // CHECK: npu.quantized_avg_pool2d {{.*}} mode fixed
  // FLOAT: npu.quantized_avg_pool2d {{.*}} mode float
  %d = npu.quantized_avg_pool2d %m kernel [2, 2] scales [0.5, 0.5] zero_points [0, 3] mode float : tensor<1x1x4x4xi8> -> tensor<1x1x3x3xi8>
  // CHECK: npu.quantize %f scales [0.5] zero_point 3 :
  %e = npu.quantize %f scales [0.5] zero_point 3 : tensor<1x8xf32> -> tensor<1x8xi8>
  // CHECK: mode fixed then add residual second scales [0.1, 0.2, 0.3] zero_points [1, 2, 3] mode fixed then relu
  // FLOAT: mode float then add residual second scales [0.1, 0.2, 0.3] zero_points [1, 2, 3] mode float then relu
  %g = npu.conv2d %m, %k, %m zero_points [0, 0] then requantize scales [0.5] zero_point 3 mode float then add residual second scales [0.1, 0.2, 0.3] zero_points [1, 2, 3] mode qlinear then relu : (tensor<1x1x4x4xi8>, tensor<1x1x1x1xi8>, tensor<1x1x4x4xi8>) -> tensor<1x1x4x4xi8>
  // CHECK: npu.quantized_binary {{.*}} with mul {{.*}} mode fixed
  // FLOAT: npu.quantized_binary {{.*}} with mul {{.*}} mode float
  %h = npu.quantized_binary %x, %b with mul scales [0.5, 0.5, 0.5] zero_points [0, 3, 0] mode qlinear : (tensor<1x8xi8>, tensor<1x8xi8>) -> tensor<1x8xi8>
  // CHECK: npu.quantized_binary {{.*}} with div {{.*}} mode float
  %i = npu.quantized_binary %x, %b with div scales [0.5, 0.5, 0.5] zero_points [0, 3, 0] mode float : (tensor<1x8xi8>, tensor<1x8xi8>) -> tensor<1x8xi8>
  // Multipliers that are given exactly keep their mode.
  // CHECK: npu.quantized_add {{.*}} mode double_round
  // FLOAT: npu.quantized_add {{.*}} mode double_round
  %j = npu.quantized_add %x, %b scales [0.5, 0.25, 2.0] zero_points [0, 3, 0] mode double_round : (tensor<1x8xi8>, tensor<1x8xi8>) -> tensor<1x8xi8>
  func.return
}
