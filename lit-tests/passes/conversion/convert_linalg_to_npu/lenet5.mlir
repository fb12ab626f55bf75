// RUN: npu-opt %s -p convert-linalg-to-npu | filecheck %s

// What mlir-opt 19 makes of lenet5.mlir beside convert_tosa_to_npu with tosa-to-linalg-named,
// tosa-to-linalg, tosa-to-tensor, tosa-to-arith and canonicalize.

// CHECK-LABEL: func.func @lenet5
// CHECK-NOT: linalg
// CHECK-NOT: tensor.
// CHECK-NOT: npu.transpose
// CHECK: [[R1:%[a-z0-9_]+]] = npu.conv2d %arg0, %cst{{[_0-9]*}}, %cst{{[_0-9]*}} strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "conv_2d_nhwc_fhwc"} : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<1x6x28x28xf32>
// CHECK-NEXT: [[P1:%[a-z0-9_]+]] = npu.max_pool2d [[R1]] kernel [2, 2] strides [2, 2]
// CHECK: [[R2:%[a-z0-9_]+]] = npu.conv2d [[P1]], %cst{{[_0-9]*}} strides [1, 1] pads [0, 0, 0, 0] then clamp [0.0, 6.0]
// CHECK-NEXT: [[P2:%[a-z0-9_]+]] = npu.max_pool2d [[R2]]
// CHECK: npu.reshape [[P2]] {{.*}} : tensor<1x16x5x5xf32> -> tensor<1x400xf32>
// CHECK: npu.fully_connected {{.*}} then relu
// CHECK: npu.fully_connected {{.*}} : (tensor<1x120xf32>, tensor<10x120xf32>, tensor<10xf32>)
// CHECK-NEXT: func.return
#map = affine_map<(d0, d1, d2, d3) -> (d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>
#map3 = affine_map<(d0, d1) -> (d1)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> (0, d1)>
module {
  func.func @lenet5(%arg0: tensor<1x1x32x32xf32>) -> tensor<1x10xf32> {
    %cst = arith.constant dense<1.000000e+00> : tensor<120x10xf32>
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<400x120xf32>
    %cst_1 = arith.constant 6.000000e+00 : f32
    %cst_2 = arith.constant -3.40282347E+38 : f32
    %cst_3 = arith.constant 3.40282347E+38 : f32
    %cst_4 = arith.constant 0.000000e+00 : f32
    %cst_5 = arith.constant dense<1.000000e+00> : tensor<6x5x5x1xf32>
    %cst_6 = arith.constant dense<2.000000e+00> : tensor<6xf32>
    %cst_7 = arith.constant dense<1.000000e+00> : tensor<16x5x5x6xf32>
    %cst_8 = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %cst_9 = arith.constant dense<2.000000e+00> : tensor<120xf32>
    %cst_10 = arith.constant dense<2.000000e+00> : tensor<10xf32>
    %0 = tensor.empty() : tensor<1x32x32x1xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<1x1x32x32xf32>) outs(%0 : tensor<1x32x32x1xf32>) permutation = [0, 2, 3, 1] 
    %1 = tensor.empty() : tensor<1x28x28x6xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<6xf32>) outs(%1 : tensor<1x28x28x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x28x28x6xf32>
    %3 = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%transposed, %cst_5 : tensor<1x32x32x1xf32>, tensor<6x5x5x1xf32>) outs(%2 : tensor<1x28x28x6xf32>) -> tensor<1x28x28x6xf32>
    %4 = tensor.empty() : tensor<1x6x28x28xf32>
    %transposed_11 = linalg.transpose ins(%3 : tensor<1x28x28x6xf32>) outs(%4 : tensor<1x6x28x28xf32>) permutation = [0, 3, 1, 2] 
    %5 = tensor.empty() : tensor<1x6x28x28xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_11 : tensor<1x6x28x28xf32>) outs(%5 : tensor<1x6x28x28xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.minimumf %in, %cst_3 : f32
      %31 = arith.maximumf %30, %cst_4 : f32
      linalg.yield %31 : f32
    } -> tensor<1x6x28x28xf32>
    %7 = tensor.empty() : tensor<1x28x28x6xf32>
    %transposed_12 = linalg.transpose ins(%6 : tensor<1x6x28x28xf32>) outs(%7 : tensor<1x28x28x6xf32>) permutation = [0, 2, 3, 1] 
    %8 = tensor.empty() : tensor<1x14x14x6xf32>
    %9 = linalg.fill ins(%cst_2 : f32) outs(%8 : tensor<1x14x14x6xf32>) -> tensor<1x14x14x6xf32>
    %10 = tensor.empty() : tensor<2x2xf32>
    %11 = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%transposed_12, %10 : tensor<1x28x28x6xf32>, tensor<2x2xf32>) outs(%9 : tensor<1x14x14x6xf32>) -> tensor<1x14x14x6xf32>
    %12 = tensor.empty() : tensor<1x10x10x16xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<16xf32>) outs(%12 : tensor<1x10x10x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x10x10x16xf32>
    %14 = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%11, %cst_7 : tensor<1x14x14x6xf32>, tensor<16x5x5x6xf32>) outs(%13 : tensor<1x10x10x16xf32>) -> tensor<1x10x10x16xf32>
    %15 = tensor.empty() : tensor<1x10x10x16xf32>
    %16 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<1x10x10x16xf32>) outs(%15 : tensor<1x10x10x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.minimumf %in, %cst_1 : f32
      %31 = arith.maximumf %30, %cst_4 : f32
      linalg.yield %31 : f32
    } -> tensor<1x10x10x16xf32>
    %17 = tensor.empty() : tensor<1x5x5x16xf32>
    %18 = linalg.fill ins(%cst_2 : f32) outs(%17 : tensor<1x5x5x16xf32>) -> tensor<1x5x5x16xf32>
    %19 = tensor.empty() : tensor<2x2xf32>
    %20 = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%16, %19 : tensor<1x10x10x16xf32>, tensor<2x2xf32>) outs(%18 : tensor<1x5x5x16xf32>) -> tensor<1x5x5x16xf32>
    %21 = tensor.empty() : tensor<1x16x5x5xf32>
    %transposed_13 = linalg.transpose ins(%20 : tensor<1x5x5x16xf32>) outs(%21 : tensor<1x16x5x5xf32>) permutation = [0, 3, 1, 2] 
    %collapsed = tensor.collapse_shape %transposed_13 [[0], [1, 2, 3]] : tensor<1x16x5x5xf32> into tensor<1x400xf32>
    %22 = tensor.empty() : tensor<1x120xf32>
    %23 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%cst_9 : tensor<120xf32>) outs(%22 : tensor<1x120xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x120xf32>
    %24 = linalg.matmul ins(%collapsed, %cst_0 : tensor<1x400xf32>, tensor<400x120xf32>) outs(%23 : tensor<1x120xf32>) -> tensor<1x120xf32>
    %25 = tensor.empty() : tensor<1x120xf32>
    %26 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<1x120xf32>) outs(%25 : tensor<1x120xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.minimumf %in, %cst_3 : f32
      %31 = arith.maximumf %30, %cst_4 : f32
      linalg.yield %31 : f32
    } -> tensor<1x120xf32>
    %27 = tensor.empty() : tensor<1x10xf32>
    %28 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<10xf32>) outs(%27 : tensor<1x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x10xf32>
    %29 = linalg.matmul ins(%26, %cst : tensor<1x120xf32>, tensor<120x10xf32>) outs(%28 : tensor<1x10xf32>) -> tensor<1x10xf32>
    return %29 : tensor<1x10xf32>
  }
}

