// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w : (tensor<4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<8x7x7xf32>
  func.return
}
// CHECK: expected an input of rank 4, got tensor<4x9x9xf32>

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3xf32>) {
  %y = npu.conv2d %x, %w : (tensor<1x4x9x9xf32>, tensor<8x4x3xf32>) -> tensor<8x7x7xf32>
  func.return
}
// CHECK: expected a weight of rank 4, got tensor<8x4x3xf32>

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  %y = npu.conv2d %x, %w : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x9x9xf32>
  func.return
}
// CHECK: expected an output of shape [1, 8, 7, 7], got [1, 8, 9, 9]

// -----

func.func @f(%x: tensor<1x4x9x9xf32>, %w: tensor<3x4xf32>) {
  %y = npu.fully_connected %x, %w : (tensor<1x4x9x9xf32>, tensor<3x4xf32>) -> tensor<1x3xf32>
  func.return
}
// CHECK: expected an input of rank 2, got tensor<1x4x9x9xf32>

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<3x5xf32>) {
  %y = npu.fully_connected %v, %w : (tensor<2x4xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: expected a weight of shape [O, 4], got [3, 5]

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<1x3xf32>) {
  %y = npu.fully_connected %v, %w, %b : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: expected a bias of shape [3], got tensor<1x3xf32>

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.max_pool2d %v kernel [2, 2] : tensor<2x4xf32> -> tensor<1x3xf32>
  func.return
}
// CHECK: expected an input of rank 4, got tensor<2x4xf32>

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.global_max_pool2d %v : tensor<2x4xf32> -> tensor<1x3xf32>
  func.return
}
// CHECK: expected an input of rank 4, got tensor<2x4xf32>

// -----

func.func @f(%x: tensor<1x4x0x9xf32>) {
  %y = npu.global_avg_pool2d %x : tensor<1x4x0x9xf32> -> tensor<1x4x1x1xf32>
  func.return
}
// CHECK: expected a map with elements, got tensor<1x4x0x9xf32>

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.relu %v : tensor<2x4xf32> -> tensor<8xf32>
  func.return
}
// CHECK: expected an output of shape [2, 4], got [8]

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.clamp %v low 1.0 high 0.0 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected clamp bounds low <= high, got [1.0, 0.0]

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<3xf32>) {
  %y = npu.add %v, %w : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected operands that broadcast, got tensor<2x4xf32> and tensor<3xf32>

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<3xf32>) {
  %y = npu.mul %v, %w : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected operands that broadcast, got tensor<2x4xf32> and tensor<3xf32>

// -----

func.func @f(%v: tensor<4xf32>) {
  %y = npu.lrn %v size 5 alpha 0.0001 beta 0.75 bias 1.0 : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// CHECK: expected an input [N, C, ...], got tensor<4xf32>

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.lrn %v size 0 alpha 0.0001 beta 0.75 bias 1.0 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected a size of at least 1 channel, got 0

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.lrn %v size 3 alpha 0.0001 beta 0.75 bias 1.0 : tensor<2x4xf32> -> tensor<4x2xf32>
  func.return
}
// CHECK: expected an output of shape [2, 4], got [4, 2]

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.concat %v, %v axis 2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  func.return
}
// CHECK: expected an axis in [0, 2), got 2

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<3x4xf32>) {
  %y = npu.concat %v, %w axis 1 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x8xf32>
  func.return
}
// CHECK: expected maps that differ along axis 1 only, got tensor<2x4xf32> and tensor<3x4xf32>

// -----

func.func @f(%v: tensor<2x4xf32>, %w: tensor<2xf32>) {
  %y = npu.concat %v, %w axis 1 : (tensor<2x4xf32>, tensor<2xf32>) -> tensor<2x8xf32>
  func.return
}
// CHECK: expected maps that differ along axis 1 only, got tensor<2x4xf32> and tensor<2xf32>

// -----

func.func @f() {
  %y = "npu.concat"() <{axis = 0 : i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> tensor<2x8xf32>
  func.return
}
// CHECK: expected at least one map to concatenate

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.reshape %v : tensor<2x4xf32> -> tensor<9xf32>
  func.return
}
// CHECK: expected as many elements as in tensor<2x4xf32>, got tensor<9xf32>

// -----

func.func @f(%v: memref<2x4xf32>, %w: memref<8xf32>) {
  npu.reshape ins(%v : memref<2x4xf32>) outs(%w : memref<8xf32>)
  func.return
}
// CHECK: expected a tensor: a reshape of a buffer is a view, not a copy

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.transpose %v perm [1, 1] : tensor<2x4xf32> -> tensor<4x2xf32>
  func.return
}
// CHECK: expected a permutation of [0, 1], got [1, 1]

// -----

func.func @f(%v: tensor<2x4xf32>) {
  %y = npu.softmax %v axis -1 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}
// CHECK: expected an axis in [0, 2), got -1

// -----

func.func @f(%v: tensor<4xf32>) {
  %y = npu.batch_norm %v, %v, %v, %v, %v epsilon 0.1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: expected an input [N, C, ...], got tensor<4xf32>

// -----

func.func @f(%v: tensor<2x4xf32>, %p: tensor<4xf32>, %q: tensor<2xf32>) {
  %y = npu.batch_norm %v, %p, %p, %p, %q epsilon 0.1 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  func.return
}
// CHECK: expected a variance of shape [4], got tensor<2xf32>
