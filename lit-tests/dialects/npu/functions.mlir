// RUN: NPU_ROUNDTRIP

// CHECK-LABEL: func.func @maps
// CHECK-NEXT: npu.map %x with silu : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
// CHECK-NEXT: npu.map %x with leaky_relu [0.01] : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
// CHECK-NEXT: npu.map %x with prelu [0.5, -0.25] : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
// CHECK-NEXT: npu.map ins(%m : memref<4xf32>) outs(%m : memref<4xf32>) with hard_sigmoid [0.2, 0.5] {npu.layer = "h"}
func.func @maps(%x: tensor<1x2x4xf32>, %m: memref<4xf32>) {
  %0 = npu.map %x with silu : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  %1 = npu.map %x with leaky_relu [0.01] : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  %2 = npu.map %x with prelu [0.5, -0.25] : tensor<1x2x4xf32> -> tensor<1x2x4xf32>
  npu.map ins(%m : memref<4xf32>) outs(%m : memref<4xf32>) with hard_sigmoid [0.2, 0.5] {npu.layer = "h"}
  func.return
}

// CHECK-LABEL: func.func @tables
// CHECK-NEXT: npu.lookup %x with lookup signed "fffefdfc{{[0-9a-f]*}}03020100" : tensor<4xi8> -> tensor<4xi8>
// CHECK-NEXT: npu.lookup ins(%m : memref<4xui8>) outs(%m : memref<4xui8>) with lookup unsigned "fffefdfc{{[0-9a-f]*}}03020100"
func.func @tables(%x: tensor<4xi8>, %m: memref<4xui8>) {
  %0 = npu.lookup %x with lookup signed "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100" : tensor<4xi8> -> tensor<4xi8>
  npu.lookup ins(%m : memref<4xui8>) outs(%m : memref<4xui8>) with lookup unsigned "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100"
  func.return
}

// CHECK-LABEL: func.func @epilogues
// CHECK-NEXT: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then tanh then max_pool [2, 2] by [2, 2] :
// CHECK-NEXT: npu.conv2d %x, %w, %r strides [1, 1] pads [0, 0, 0, 0] then mish then add residual first then gelu_tanh :
// CHECK-NEXT: npu.add %r, %r then elu [1.0] {f = #npu.function<silu>} :
func.func @epilogues(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>, %r: tensor<1x3x4x4xf32>) {
  %0 = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then tanh then max_pool [2, 2] by [2, 2] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x2x2xf32>
  %1 = npu.conv2d %x, %w, %r strides [1, 1] pads [0, 0, 0, 0] then mish then add residual first then gelu_tanh : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %2 = npu.add %r, %r then elu [1.0] {f = #npu.function<silu>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  func.return
}
