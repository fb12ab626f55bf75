// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-fold-batch-norm)' --verify-diagnostics --split-input-file | filecheck %s

// CHECK-LABEL: npu-fold-batch-norm: expected variance + epsilon > 0, got -0.5 in channel 1
func.func @negative_variance(%x: tensor<1x3xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<1.0> : tensor<2x3xf32>
  %p = arith.constant dense<1.0> : tensor<2xf32>
  %variance = arith.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %f = npu.fully_connected %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %n = npu.batch_norm %f, %p, %p, %p, %variance epsilon 0.5 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %n : tensor<1x2xf32>
}

// -----

// CHECK-LABEL: npu-fold-batch-norm: expected variance + epsilon > 0, got 0.0 in channel 0
func.func @zero_variance(%x: tensor<1x3xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<1.0> : tensor<2x3xf32>
  %p = arith.constant dense<0.0> : tensor<2xf32>
  %f = npu.fully_connected %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %n = npu.batch_norm %f, %p, %p, %p, %p epsilon 0.0 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %n : tensor<1x2xf32>
}
