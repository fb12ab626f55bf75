// RUN: npu-opt %s -p convert-linalg-to-npu | filecheck %s

// Ops without equivalent stay, and say why. Ops on buffers are not this pass's.

#map = affine_map<(d0, d1) -> (d0, d1)>
#window = affine_map<(d0, d1) -> (d0 + d1)>

// CHECK-LABEL: func.func @reasons
// CHECK: linalg.generic {{.*}}npu.left = "no layer computes `math.fma` of its body"
// CHECK: linalg.matmul {{.*}}npu.left = "expected static shapes with elements, got tensor<?x2xf32>"
// CHECK: linalg.pooling_nchw_max {{.*}}npu.left = "expected `linalg.fill` with -inf as what it starts from"
// CHECK: linalg.generic {{.*}}npu.left = "expected operands that are indexed by loops, got (d0, d1) -> ((d0 + d1))"
func.func @reasons(%a: tensor<2x2xf32>, %x: tensor<1x2x2x2xf32>, %z: tensor<?x2xf32>, %v: tensor<3xf32>) -> (tensor<2x2xf32>, tensor<?x2xf32>, tensor<1x2x1x1xf32>, tensor<2x2xf32>) {
  %e = tensor.empty() : tensor<2x2xf32>
  %g = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %f = math.fma %in, %in, %in : f32
    linalg.yield %f : f32
  } -> tensor<2x2xf32>
  %m = linalg.matmul ins(%z, %a : tensor<?x2xf32>, tensor<2x2xf32>) outs(%z : tensor<?x2xf32>) -> tensor<?x2xf32>
  %o = tensor.empty() : tensor<1x2x1x1xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %p = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x2x2x2xf32>, tensor<2x2xf32>) outs(%o : tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  %s = linalg.generic {indexing_maps = [#window, #map], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<3xf32>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  return %g, %m, %p, %s : tensor<2x2xf32>, tensor<?x2xf32>, tensor<1x2x1x1xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @buffers
// CHECK: linalg.fill
// CHECK-NOT: npu.left
func.func @buffers(%a: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<4xf32>)
  return
}
