// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.map %x with smooth : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  func.return
}
// CHECK: expected one of abs, acos,

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.map %x : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  func.return
}
// CHECK: expected `with`

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.map %x with elu [1.0, 2.0] : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  func.return
}
// CHECK: expected 1 parameters of elu, got 2

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.map %x with prelu [1.0, 2.0, 3.0] : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  func.return
}
// CHECK: expected a map of 3 channels, as many as there are parameters of prelu, got one of shape [1, 2, 4]

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.map %x with silu : tensor<1x2x4xf32> -> tensor<1x2x5xf32>
  func.return
}
// CHECK: expected an output of shape [1, 2, 4], got [1, 2, 5]

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.lookup %q with lookup signed "00" : tensor<4xi8> -> tensor<4xi8>
  func.return
}
// CHECK: expected 512 hexadecimal digits in a table, two for each byte, got 2 characters

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.lookup %q with lookup signed "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a0908070605040302010x" : tensor<4xi8> -> tensor<4xi8>
  func.return
}
// CHECK: expected 512 hexadecimal digits in a table

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.lookup %q with lookup unsigned "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100" : tensor<4xi8> -> tensor<4xi8>
  func.return
}
// CHECK: expected ui8 elements, got i8

// -----

func.func @f(%x: tensor<1x2x4xf32>, %q: tensor<4xi8>) {
  %0 = npu.lookup %q with sigmoid : tensor<4xi8> -> tensor<4xi8>
  func.return
}
// CHECK: expected `lookup`

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  %0 = npu.conv2d %x, %w then lookup signed "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100" : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  func.return
}
// CHECK: expected a table of f32 elements

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  %0 = npu.conv2d %x, %w then prelu [1.0, 2.0] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  func.return
}
// CHECK: expected a map of 2 channels

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xi8>) {
  %0 = npu.conv2d %x, %w zero_points [0, 0] then requantize scales [0.5] zero_point 0 mode float then tanh : (tensor<1x2x4x4xi8>, tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xi8>
  func.return
}
// CHECK: expected bounds or a table behind requantize, no function

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  %0 = npu.add %x, %x then prelu [1.0, 2.0] : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: expected an activation that is the same for all channels

// -----

func.func @f(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  %0 = npu.conv2d %x, %w then silu then max_pool [2, 2] by [2, 2] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x2x2xf32>
  func.return
}
// CHECK: expected a monotone activation in front of a maximum, which is computed first
