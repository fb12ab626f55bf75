// RUN: npu-opt %s -p convert-linalg-to-npu,convert-tosa-to-npu | filecheck %s
// RUN: npu-opt %s -p convert-tosa-to-npu,convert-linalg-to-npu | filecheck %s

// What mlir-opt 19 makes of lenet5.mlir beside convert_tosa_to_npu with tosa-to-linalg-named alone:
// both dialects, each of which one pass converts. The order of the passes makes no difference.

// CHECK-LABEL: func.func @lenet5
// CHECK-NOT: linalg
// CHECK-NOT: tosa
// CHECK-NOT: npu.transpose
// CHECK: npu.conv2d %arg0, {{.*}} then relu
// CHECK-NEXT: npu.max_pool2d
// CHECK: npu.conv2d {{.*}} then clamp [0.0, 6.0]
// CHECK-NEXT: npu.max_pool2d
// CHECK: npu.reshape
// CHECK: npu.fully_connected {{.*}} then relu
// CHECK: npu.fully_connected
// CHECK: func.return
#map = affine_map<(d0, d1, d2, d3) -> (d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1) -> (d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @lenet5(%arg0: tensor<1x1x32x32xf32>) -> tensor<1x10xf32> {
    %0 = "tosa.const"() <{value = dense<[0, 2, 3, 1]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %1 = "tosa.const"() <{value = dense<[0, 3, 1, 2]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %2 = "tosa.const"() <{value = dense<1.000000e+00> : tensor<6x5x5x1xf32>}> : () -> tensor<6x5x5x1xf32>
    %3 = "tosa.const"() <{value = dense<2.000000e+00> : tensor<6xf32>}> : () -> tensor<6xf32>
    %4 = "tosa.const"() <{value = dense<1.000000e+00> : tensor<16x5x5x6xf32>}> : () -> tensor<16x5x5x6xf32>
    %5 = "tosa.const"() <{value = dense<0.000000e+00> : tensor<16xf32>}> : () -> tensor<16xf32>
    %6 = "tosa.const"() <{value = dense<1.000000e+00> : tensor<120x400xf32>}> : () -> tensor<120x400xf32>
    %7 = "tosa.const"() <{value = dense<2.000000e+00> : tensor<120xf32>}> : () -> tensor<120xf32>
    %8 = "tosa.const"() <{value = dense<1.000000e+00> : tensor<10x120xf32>}> : () -> tensor<10x120xf32>
    %9 = "tosa.const"() <{value = dense<2.000000e+00> : tensor<10xf32>}> : () -> tensor<10xf32>
    %10 = tensor.empty() : tensor<1x32x32x1xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<1x1x32x32xf32>) outs(%10 : tensor<1x32x32x1xf32>) permutation = [0, 2, 3, 1] 
    %11 = tensor.empty() : tensor<1x28x28x6xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<6xf32>) outs(%11 : tensor<1x28x28x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x28x28x6xf32>
    %13 = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%transposed, %2 : tensor<1x32x32x1xf32>, tensor<6x5x5x1xf32>) outs(%12 : tensor<1x28x28x6xf32>) -> tensor<1x28x28x6xf32>
    %14 = tensor.empty() : tensor<1x6x28x28xf32>
    %transposed_0 = linalg.transpose ins(%13 : tensor<1x28x28x6xf32>) outs(%14 : tensor<1x6x28x28xf32>) permutation = [0, 3, 1, 2] 
    %15 = tosa.clamp %transposed_0 {max_fp = 3.40282347E+38 : f32, max_int = 2147483647 : i64, min_fp = 0.000000e+00 : f32, min_int = 0 : i64} : (tensor<1x6x28x28xf32>) -> tensor<1x6x28x28xf32>
    %16 = tensor.empty() : tensor<1x28x28x6xf32>
    %transposed_1 = linalg.transpose ins(%15 : tensor<1x6x28x28xf32>) outs(%16 : tensor<1x28x28x6xf32>) permutation = [0, 2, 3, 1] 
    %cst = arith.constant -3.40282347E+38 : f32
    %17 = tensor.empty() : tensor<1x14x14x6xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<1x14x14x6xf32>) -> tensor<1x14x14x6xf32>
    %19 = tensor.empty() : tensor<2x2xf32>
    %20 = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%transposed_1, %19 : tensor<1x28x28x6xf32>, tensor<2x2xf32>) outs(%18 : tensor<1x14x14x6xf32>) -> tensor<1x14x14x6xf32>
    %21 = tensor.empty() : tensor<1x10x10x16xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<16xf32>) outs(%21 : tensor<1x10x10x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x10x10x16xf32>
    %23 = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%20, %4 : tensor<1x14x14x6xf32>, tensor<16x5x5x6xf32>) outs(%22 : tensor<1x10x10x16xf32>) -> tensor<1x10x10x16xf32>
    %24 = tosa.clamp %23 {max_fp = 6.000000e+00 : f32, max_int = 6 : i64, min_fp = 0.000000e+00 : f32, min_int = 0 : i64} : (tensor<1x10x10x16xf32>) -> tensor<1x10x10x16xf32>
    %cst_2 = arith.constant -3.40282347E+38 : f32
    %25 = tensor.empty() : tensor<1x5x5x16xf32>
    %26 = linalg.fill ins(%cst_2 : f32) outs(%25 : tensor<1x5x5x16xf32>) -> tensor<1x5x5x16xf32>
    %27 = tensor.empty() : tensor<2x2xf32>
    %28 = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%24, %27 : tensor<1x10x10x16xf32>, tensor<2x2xf32>) outs(%26 : tensor<1x5x5x16xf32>) -> tensor<1x5x5x16xf32>
    %29 = tensor.empty() : tensor<1x16x5x5xf32>
    %transposed_3 = linalg.transpose ins(%28 : tensor<1x5x5x16xf32>) outs(%29 : tensor<1x16x5x5xf32>) permutation = [0, 3, 1, 2] 
    %30 = tosa.reshape %transposed_3 {new_shape = array<i64: 1, 400>} : (tensor<1x16x5x5xf32>) -> tensor<1x400xf32>
    %cst_4 = arith.constant dense<[1, 0]> : tensor<2xi64>
    %31 = "tosa.const"() <{value = dense<1.000000e+00> : tensor<400x120xf32>}> : () -> tensor<400x120xf32>
    %32 = tensor.empty() : tensor<1x120xf32>
    %33 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<120xf32>) outs(%32 : tensor<1x120xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x120xf32>
    %34 = linalg.matmul ins(%30, %31 : tensor<1x400xf32>, tensor<400x120xf32>) outs(%33 : tensor<1x120xf32>) -> tensor<1x120xf32>
    %35 = tosa.clamp %34 {max_fp = 3.40282347E+38 : f32, max_int = 2147483647 : i64, min_fp = 0.000000e+00 : f32, min_int = 0 : i64} : (tensor<1x120xf32>) -> tensor<1x120xf32>
    %cst_5 = arith.constant dense<[1, 0]> : tensor<2xi64>
    %36 = "tosa.const"() <{value = dense<1.000000e+00> : tensor<120x10xf32>}> : () -> tensor<120x10xf32>
    %37 = tensor.empty() : tensor<1x10xf32>
    %38 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<10xf32>) outs(%37 : tensor<1x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x10xf32>
    %39 = linalg.matmul ins(%35, %36 : tensor<1x120xf32>, tensor<120x10xf32>) outs(%38 : tensor<1x10xf32>) -> tensor<1x10xf32>
    return %39 : tensor<1x10xf32>
  }
}

