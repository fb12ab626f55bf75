// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<4x3xf32>) {
  %y = npu.normalize %x axes [1, 0] epsilon 0.0 : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}
// CHECK: expected axes in [0, 2), in ascending order, got [1, 0]

// -----

func.func @f(%x: tensor<4x3xf32>) {
  %y = npu.normalize %x axes [] epsilon 0.0 : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}
// CHECK: expected axes in [0, 2), in ascending order, got []

// -----

func.func @f(%x: tensor<4x3xf32>) {
  %y = npu.normalize %x axes [2] epsilon 0.0 : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}
// CHECK: expected axes in [0, 2), in ascending order, got [2]

// -----

func.func @f(%x: tensor<4x3xf32>) {
  %y = npu.normalize %x axes [1] epsilon -1.0 : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}
// CHECK: expected an epsilon of at least 0, got -1.0

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<4xf32>) {
  %y = npu.normalize %x, %s axes [1] epsilon 0.0 : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  func.return
}
// CHECK: expected a scale that broadcasts to [4, 3], got tensor<4xf32>

// -----

func.func @f(%x: tensor<4x3xi8>) {
  %y = npu.normalize %x axes [1] epsilon 0.0 : tensor<4x3xi8> -> tensor<4x3xi8>
  func.return
}
// CHECK: expected a map with elements of type f32, got tensor<4x3xi8>
