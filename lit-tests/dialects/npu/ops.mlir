// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @convolutions
// GENERIC-LABEL: sym_name = "convolutions"
func.func @convolutions(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>, %g: tensor<8x1x3x3xf32>) {
  // CHECK: %plain = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  // GENERIC: %plain = "npu.conv2d"(%x, %w) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}> : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  %plain = npu.conv2d %x, %w : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  // CHECK: npu.conv2d %x, %w, %b strides [2, 1] pads [0, 1, 2, 3] dilations [2, 2] {npu.layer = "c1"} : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x9xf32>
  %all = npu.conv2d %x, %w, %b strides [2, 1] pads [0, 1, 2, 3] dilations [2, 2] {npu.layer = "c1"} : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x9xf32>
  // CHECK: npu.conv2d %x, %g strides [1, 1] pads [0, 0, 0, 0] groups 4 : (
  %depthwise = npu.conv2d %x, %g groups 4 : (tensor<1x4x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x7x7xf32>
  func.return
}

// CHECK-LABEL: func.func @fused
// GENERIC-LABEL: sym_name = "fused"
func.func @fused(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %v: tensor<1x400xf32>, %m: tensor<120x400xf32>, %n: tensor<120xf32>) {
  // CHECK: pads [0, 0, 0, 0] then relu : (
  // GENERIC: epilogue = #npu.epilogue<then relu>
  %relu = npu.conv2d %x, %w then relu : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  // CHECK: pads [0, 0, 0, 0] then clamp [-1.5, 1.0e+20] then max_pool [2, 2] by [2, 2] : (
  // GENERIC: epilogue = #npu.epilogue<then clamp [-1.5, 1.0e+20] then max_pool [2, 2] by [2, 2]>
  %pool = npu.conv2d %x, %w then clamp [-1.5, 1.0e20] then max_pool [2, 2] by [2, 2] : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x3x3xf32>
  // CHECK: then clamp [-inf, 6.0] then max_pool [3, 3] by [2, 2] padded [1, 0, 1, 0] overlap accumulate {npu.value = "y"} : (
  // GENERIC: epilogue = #npu.epilogue<{{.*}}then max_pool [3, 3] by [2, 2] padded [1, 0, 1, 0] overlap accumulate>
  %overlap = npu.conv2d %x, %w then clamp [-inf, 6.0] then max_pool [3, 3] by [2, 2] padded [1, 0, 1, 0] overlap accumulate {npu.value = "y"} : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x4x3xf32>
  // CHECK: then avg_pool [2, 2] by [2, 2] padded [1, 1, 0, 0] dilated [2, 2] ceil_mode count_include_pad overlap recompute : (
  // GENERIC: then avg_pool [2, 2] by [2, 2] padded [1, 1, 0, 0] dilated [2, 2] ceil_mode count_include_pad overlap recompute>
  %average = npu.conv2d %x, %w then avg_pool [2, 2] by [2, 2] padded [1, 1, 0, 0] dilated [2, 2] ceil_mode count_include_pad overlap recompute : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x4x4xf32>
  // CHECK: npu.fully_connected %v, %m, %n then relu : (tensor<1x400xf32>, tensor<120x400xf32>, tensor<120xf32>) -> tensor<1x120xf32>
  %fc = npu.fully_connected %v, %m, %n then relu : (tensor<1x400xf32>, tensor<120x400xf32>, tensor<120xf32>) -> tensor<1x120xf32>
  // CHECK: npu.fully_connected %v, %m : (tensor<1x400xf32>, tensor<120x400xf32>) -> tensor<1x120xf32>
  %fc1 = npu.fully_connected %v, %m : (tensor<1x400xf32>, tensor<120x400xf32>) -> tensor<1x120xf32>
  func.return
}

// CHECK-LABEL: func.func @pools
// GENERIC-LABEL: sym_name = "pools"
func.func @pools(%x: tensor<1x4x9x9xf32>) {
  // CHECK: npu.max_pool2d %x kernel [2, 2] strides [1, 1] : tensor<1x4x9x9xf32> -> tensor<1x4x8x8xf32>
  // GENERIC: "npu.max_pool2d"(%x) <{kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<1x4x9x9xf32>) -> tensor<1x4x8x8xf32>
  %max = npu.max_pool2d %x kernel [2, 2] : tensor<1x4x9x9xf32> -> tensor<1x4x8x8xf32>
  // CHECK: npu.max_pool2d %x kernel [3, 3] strides [3, 2] pads [1, 0, 1, 2] dilations [2, 1] ceil_mode {npu.layer = "p"} : tensor<1x4x9x9xf32> -> tensor<1x4x3x5xf32>
  %ceil = npu.max_pool2d %x kernel [3, 3] strides [3, 2] pads [1, 0, 1, 2] dilations [2, 1] ceil_mode {npu.layer = "p"} : tensor<1x4x9x9xf32> -> tensor<1x4x3x5xf32>
  // CHECK: npu.avg_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 1, 1] count_include_pad : tensor<1x4x9x9xf32> -> tensor<1x4x5x5xf32>
  // GENERIC: "npu.avg_pool2d"(%x) <{{{.*}}count_include_pad, operandSegmentSizes = array<i32: 1, 0>}>
  %average = npu.avg_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 1, 1] count_include_pad : tensor<1x4x9x9xf32> -> tensor<1x4x5x5xf32>
  // CHECK: npu.global_max_pool2d %x : tensor<1x4x9x9xf32> -> tensor<1x4x1x1xf32>
  %global_max = npu.global_max_pool2d %x : tensor<1x4x9x9xf32> -> tensor<1x4x1x1xf32>
  // CHECK: npu.global_avg_pool2d %x : tensor<1x4x9x9xf32> -> tensor<1x4x1x1xf32>
  %global_avg = npu.global_avg_pool2d %x : tensor<1x4x9x9xf32> -> tensor<1x4x1x1xf32>
  func.return
}

// CHECK-LABEL: func.func @others
// GENERIC-LABEL: sym_name = "others"
func.func @others(%x: tensor<1x4x3x2xf32>, %c: tensor<4x1x1xf32>, %p: tensor<4xf32>, %i: tensor<7xi8>) {
  // CHECK: npu.relu %x : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  %relu = npu.relu %x : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  // CHECK: npu.clamp %i low -3.0 high 0.1 : tensor<7xi8> -> tensor<7xi8>
  // GENERIC: "npu.clamp"(%i) <{low = -3.000000e+00 : f64, high = 1.000000e-01 : f64, operandSegmentSizes = array<i32: 1, 0>}>
  %clamp = npu.clamp %i low -3.0 high 0.1 : tensor<7xi8> -> tensor<7xi8>
  // CHECK: npu.clamp %x low -inf high inf : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  %open = npu.clamp %x low -inf high inf : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  // CHECK: npu.add %x, %c : (tensor<1x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x3x2xf32>
  %add = npu.add %x, %c : (tensor<1x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x3x2xf32>
  // CHECK: npu.add %x, %c then clamp [-1.0, 2.5] : (tensor<1x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x3x2xf32>
  // GENERIC: "npu.add"(%x, %c) <{epilogue = #npu.epilogue<then clamp [-1.0, 2.5]>, operandSegmentSizes = array<i32: 1, 1, 0>}>
  %held = npu.add %x, %c then clamp [-1.0, 2.5] : (tensor<1x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x3x2xf32>
  // CHECK: npu.mul %x, %c : (tensor<1x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x3x2xf32>
  %mul = npu.mul %x, %c : (tensor<1x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x3x2xf32>
  // CHECK: npu.lrn %x size 5 alpha 0.0001 beta 0.75 bias 1.0 : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  // GENERIC: "npu.lrn"(%x) <{size = 5 : i64, alpha = 1.000000e-04 : f64, beta = 7.500000e-01 : f64, bias = 1.000000e+00 : f64, operandSegmentSizes = array<i32: 1, 0>}>
  %lrn = npu.lrn %x size 5 alpha 0.0001 beta 0.75 bias 1.0 : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  // CHECK: npu.concat %x, %x, %x axis 3 : (tensor<1x4x3x2xf32>, tensor<1x4x3x2xf32>, tensor<1x4x3x2xf32>) -> tensor<1x4x3x6xf32>
  // GENERIC: "npu.concat"(%x, %x, %x) <{axis = 3 : i64, operandSegmentSizes = array<i32: 3, 0>}>
  %concat = npu.concat %x, %x, %x axis 3 : (tensor<1x4x3x2xf32>, tensor<1x4x3x2xf32>, tensor<1x4x3x2xf32>) -> tensor<1x4x3x6xf32>
  // CHECK: npu.concat %x axis 0 : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  %one = npu.concat %x axis 0 : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  // CHECK: npu.reshape %x : tensor<1x4x3x2xf32> -> tensor<24xf32>
  %reshape = npu.reshape %x : tensor<1x4x3x2xf32> -> tensor<24xf32>
  // CHECK: npu.transpose %x perm [0, 2, 3, 1] : tensor<1x4x3x2xf32> -> tensor<1x3x2x4xf32>
  %transpose = npu.transpose %x perm [0, 2, 3, 1] : tensor<1x4x3x2xf32> -> tensor<1x3x2x4xf32>
  // CHECK: npu.softmax %x axis 1 : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  %softmax = npu.softmax %x axis 1 : tensor<1x4x3x2xf32> -> tensor<1x4x3x2xf32>
  // CHECK: npu.batch_norm %x, %p, %p, %p, %p epsilon 1.0e-05 : (tensor<1x4x3x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3x2xf32>
  %norm = npu.batch_norm %x, %p, %p, %p, %p epsilon 1.0e-05 : (tensor<1x4x3x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3x2xf32>
  func.return
}
