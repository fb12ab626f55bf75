// RUN: npu-opt %s -p convert-linalg-to-npu | filecheck %s

// Linalg on tensors as torch-mlir writes it: channels second, a bias that is broadcast, a ReLU as a
// comparison and a choice, an average as sums that are divided, a transposed weight.

#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#column = affine_map<(d0, d1) -> (d1)>
#matrix = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @forward
// CHECK-NOT: linalg
// CHECK: [[C:%[a-z0-9_]+]] = npu.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] then relu
// CHECK: [[D:%[a-z0-9_]+]] = npu.conv2d [[C]], %v strides [1, 1] pads [0, 0, 0, 0] groups 4
// CHECK: [[P:%[a-z0-9_]+]] = npu.avg_pool2d [[D]] kernel [2, 2] strides [1, 1] count_include_pad
// CHECK: npu.reshape [[P]] {{.*}} -> tensor<1x4xf32>
// CHECK: npu.fully_connected {{.*}}, %fw, %fb
// CHECK: func.return
func.func @forward(%x: tensor<1x3x8x8xf32>) -> tensor<1x5xf32> {
  %w = arith.constant dense<1.0> : tensor<4x3x3x3xf32>
  %b = arith.constant dense<2.0> : tensor<4xf32>
  %v = arith.constant dense<3.0> : tensor<4x3x3xf32>
  %fw = arith.constant dense<4.0> : tensor<5x4xf32>
  %fb = arith.constant dense<5.0> : tensor<5xf32>
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x3x8x8xf32> to tensor<1x3x10x10xf32>
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %start = linalg.broadcast ins(%b : tensor<4xf32>) outs(%e : tensor<1x4x4x4xf32>) dimensions = [0, 2, 3]
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded, %w : tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>) outs(%start : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x4x4x4xf32>) outs(%e : tensor<1x4x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %is = arith.cmpf ugt, %in, %zero : f32
    %max = arith.select %is, %in, %zero : f32
    linalg.yield %max : f32
  } -> tensor<1x4x4x4xf32>
  %e2 = tensor.empty() : tensor<1x4x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %d = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%r, %v : tensor<1x4x4x4xf32>, tensor<4x3x3xf32>) outs(%f2 : tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %e3 = tensor.empty() : tensor<1x4x1x1xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %s = linalg.pooling_nchw_sum {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%d, %window : tensor<1x4x2x2xf32>, tensor<2x2xf32>) outs(%f3 : tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  %a = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<1x4x1x1xf32>) outs(%e3 : tensor<1x4x1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %mean = arith.divf %in, %four : f32
    linalg.yield %mean : f32
  } -> tensor<1x4x1x1xf32>
  %flat = tensor.collapse_shape %a [[0], [1, 2, 3]] : tensor<1x4x1x1xf32> into tensor<1x4xf32>
  %e4 = tensor.empty() : tensor<4x5xf32>
  %turned = linalg.transpose ins(%fw : tensor<5x4xf32>) outs(%e4 : tensor<4x5xf32>) permutation = [1, 0]
  %e5 = tensor.empty() : tensor<1x5xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<1x5xf32>) -> tensor<1x5xf32>
  %m = linalg.matmul ins(%flat, %turned : tensor<1x4xf32>, tensor<4x5xf32>) outs(%f5 : tensor<1x5xf32>) -> tensor<1x5xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #column, #matrix], iterator_types = ["parallel", "parallel"]} ins(%m, %fb : tensor<1x5xf32>, tensor<5xf32>) outs(%e5 : tensor<1x5xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %sum = arith.addf %in, %in_1 : f32
    linalg.yield %sum : f32
  } -> tensor<1x5xf32>
  return %y : tensor<1x5xf32>
}

// Sums, products and functions of tensors; a reduction; pieces that are put one behind the other.
// CHECK-LABEL: func.func @others
// CHECK: [[S:%[a-z0-9_]+]] = npu.add %x, %y
// CHECK: [[T:%[a-z0-9_]+]] = npu.map [[S]] with tanh
// CHECK: [[G:%[a-z0-9_]+]] = npu.concat [[T]], %y axis 1
// CHECK: [[M:%[a-z0-9_]+]] = npu.reduce [[G]] with max axes [2, 3]
// CHECK: npu.reshape [[M]] {{.*}} : tensor<1x4x1x1xf32> -> tensor<1x4xf32>
func.func @others(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x4x4xf32>) -> tensor<1x4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %s = linalg.add ins(%x, %y : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %t = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<1x2x4x4xf32>) outs(%e : tensor<1x2x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %h = math.tanh %in : f32
    linalg.yield %h : f32
  } -> tensor<1x2x4x4xf32>
  %whole = tensor.empty() : tensor<1x4x4x4xf32>
  %first = tensor.insert_slice %t into %whole[0, 0, 0, 0] [1, 2, 4, 4] [1, 1, 1, 1] : tensor<1x2x4x4xf32> into tensor<1x4x4x4xf32>
  %both = tensor.insert_slice %y into %first[0, 2, 0, 0] [1, 2, 4, 4] [1, 1, 1, 1] : tensor<1x2x4x4xf32> into tensor<1x4x4x4xf32>
  %e2 = tensor.empty() : tensor<1x4xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<1x4xf32>) -> tensor<1x4xf32>
  %m = linalg.generic {indexing_maps = [#all, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%both : tensor<1x4x4x4xf32>) outs(%f2 : tensor<1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %max = arith.maximumf %in, %out : f32
    linalg.yield %max : f32
  } -> tensor<1x4xf32>
  return %m : tensor<1x4xf32>
}
