// RUN: npu-opt %s -p convert-linalg-to-npu | filecheck %s

#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#turned = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#row = affine_map<(d0, d1, d2, d3) -> (d2)>

// The choice of the smaller number is a minimum, however it is written.
// CHECK-LABEL: func.func @choices
// CHECK: npu.clamp %x low -inf high 2.0
// CHECK: npu.binary %x, %y with max
// CHECK: npu.clamp {{.*}} low -1.0 high inf
func.func @choices(%x: tensor<1x2x2x2xf32>, %y: tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %e = tensor.empty() : tensor<1x2x2x2xf32>
  %two = arith.constant 2.0 : f32
  %low = arith.constant -1.0 : f32
  %a = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x2x2xf32>) outs(%e : tensor<1x2x2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %is = arith.cmpf ogt, %in, %two : f32
    %min = arith.select %is, %two, %in : f32
    linalg.yield %min : f32
  } -> tensor<1x2x2x2xf32>
  %b = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %y : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) outs(%e : tensor<1x2x2x2xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %max = arith.maximumf %in, %in_1 : f32
    %held = arith.maximumf %max, %low : f32
    linalg.yield %held : f32
  } -> tensor<1x2x2x2xf32>
  return %a, %b : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// Sums over windows that are divided by another number are an average times a number.
// CHECK-LABEL: func.func @sums
// CHECK: [[A:%[a-z_0-9]+]] = npu.avg_pool2d {{.*}} kernel [2, 2] strides [2, 2] count_include_pad
// CHECK: [[F:%[a-z_0-9]+]] = arith.constant dense<2.000000e+00> : tensor<1x1x1x1xf32>
// CHECK: npu.mul [[A]], [[F]]
func.func @sums(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<1x2x2x2xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %s = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w : tensor<1x2x4x4xf32>, tensor<2x2xf32>) outs(%f : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %a = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<1x2x2x2xf32>) outs(%e : tensor<1x2x2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %mean = arith.divf %in, %two : f32
    linalg.yield %mean : f32
  } -> tensor<1x2x2x2xf32>
  return %a : tensor<1x2x2x2xf32>
}

// A vector along another axis than the channels is no bias: it is added behind the sums.
// CHECK-LABEL: func.func @no_bias
// CHECK: [[C:%[a-z_0-9]+]] = npu.conv2d %x, %k strides [1, 1] pads [0, 0, 0, 0] {
// CHECK: npu.add [[C]], %{{[a-z_0-9]+}}
func.func @no_bias(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %k = arith.constant dense<1.0> : tensor<2x2x1x1xf32>
  %v = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<1x2x2x2xf32>
  %s = linalg.broadcast ins(%v : tensor<2xf32>) outs(%e : tensor<1x2x2x2xf32>) dimensions = [0, 1, 3]
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %k : tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>) outs(%s : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %c : tensor<1x2x2x2xf32>
}

// A body that only gives its argument moves axes, and a result that is not in order moves them back.
// CHECK-LABEL: func.func @moved
// CHECK: npu.max_pool2d %x
// CHECK-NOT: npu.transpose
func.func @moved(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x1x1xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x2x2x2xf32>
  %t = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x2x2xf32>) outs(%e : tensor<1x2x2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x2xf32>
  %u = linalg.generic {indexing_maps = [#all, #turned], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%t : tensor<1x2x2x2xf32>) outs(%e : tensor<1x2x2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x2x2xf32>
  %o = tensor.empty() : tensor<1x2x1x1xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %f = linalg.fill ins(%low : f32) outs(%o : tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  %p = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%u, %w : tensor<1x2x2x2xf32>, tensor<2x2xf32>) outs(%f : tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  return %p : tensor<1x2x1x1xf32>
}
