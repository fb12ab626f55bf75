// RUN: NPU_ROUNDTRIP
// RUN: npu-opt %s -p linalg-generalize-named-ops | filecheck %s --check-prefix=LOOPS

// The named ops that xDSL lacks, with their loops and bodies; on buffers, they become loops.

// CHECK-LABEL: func.func @depthwise
// CHECK: linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x5x5x2xf32>, tensor<3x3x2xf32>) outs(%y : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
// LOOPS-LABEL: func.func @depthwise
// LOOPS: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + d4), ((d2 * 2) + d5), d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
func.func @depthwise(%x: tensor<1x5x5x2xf32>, %w: tensor<3x3x2xf32>, %y: tensor<1x2x2x2xf32>) {
  %d = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x5x5x2xf32>, tensor<3x3x2xf32>) outs(%y : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return
}

// CHECK-LABEL: func.func @quantised
// CHECK: linalg.conv_2d_nhwc_hwcf_q {{.*}} ins(%x, %w, %z, %z : tensor<1x3x3x2xi8>, tensor<1x1x2x4xi8>, i32, i32) outs(%y : tensor<1x3x3x4xi32>)
func.func @quantised(%x: tensor<1x3x3x2xi8>, %w: tensor<1x1x2x4xi8>, %z: i32, %y: tensor<1x3x3x4xi32>) {
  %c = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w, %z, %z : tensor<1x3x3x2xi8>, tensor<1x1x2x4xi8>, i32, i32) outs(%y : tensor<1x3x3x4xi32>) -> tensor<1x3x3x4xi32>
  return
}

// CHECK-LABEL: func.func @buffers
// CHECK: linalg.pooling_nhwc_max {{.*}} ins(%x, %w : memref<1x4x4x2xf32>, memref<2x2xf32>) outs(%y : memref<1x2x2x2xf32>)
// CHECK: linalg.batch_matmul ins(%a, %b : memref<2x3x4xf32>, memref<2x4x5xf32>) outs(%c : memref<2x3x5xf32>)
func.func @buffers(%x: memref<1x4x4x2xf32>, %w: memref<2x2xf32>, %y: memref<1x2x2x2xf32>, %a: memref<2x3x4xf32>, %b: memref<2x4x5xf32>, %c: memref<2x3x5xf32>) {
  linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w : memref<1x4x4x2xf32>, memref<2x2xf32>) outs(%y : memref<1x2x2x2xf32>)
  linalg.batch_matmul ins(%a, %b : memref<2x3x4xf32>, memref<2x4x5xf32>) outs(%c : memref<2x3x5xf32>)
  return
}
