// RUN: xdsl-opt %s --allow-unregistered-dialect -p convert-tosa-to-npu | filecheck %s
// RUN: npu-opt %s -p convert-tosa-to-npu | filecheck %s

// Plain xdsl-opt knows some of these ops and takes the others unregistered.

// CHECK-LABEL: func.func @main
// CHECK-NOT: tosa
// CHECK: npu.conv2d
// CHECK-NEXT: npu.max_pool2d
// CHECK-NEXT: npu.transpose
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<1x4x4x2xf32>):
    %w = "tosa.const"() <{values = dense<1.0> : tensor<2x1x1x2xf32>}> : () -> tensor<2x1x1x2xf32>
    %b = "tosa.const"() <{values = dense<1.0> : tensor<2xf32>}> : () -> tensor<2xf32>
    %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %c = "tosa.conv2d"(%x, %w, %b, %z, %z) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}> : (tensor<1x4x4x2xf32>, tensor<2x1x1x2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x2xf32>
    %p = "tosa.max_pool2d"(%c) <{kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}> : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
    "func.return"(%p) : (tensor<1x2x2x2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
