// RUN: npu-opt %s -p npu-fuse-conv-relu-pool | filecheck %s

// Functions and tables go into the layer before them. A monotone one commutes with a max pool.
// CHECK-LABEL: func.func @monotone
// CHECK-NEXT: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then tanh then max_pool [2, 2] by [2, 2] :
// CHECK-NEXT: func.return
func.func @monotone(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) -> tensor<1x3x2x2xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] : tensor<1x3x4x4xf32> -> tensor<1x3x2x2xf32>
  %t = npu.map %p with tanh : tensor<1x3x2x2xf32> -> tensor<1x3x2x2xf32>
  func.return %t : tensor<1x3x2x2xf32>
}

// SiLU falls before it rises: its largest value is not that of the largest number.
// CHECK-LABEL: func.func @not_monotone
// CHECK-NEXT: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then silu :
// CHECK-NEXT: npu.max_pool2d
// CHECK-NEXT: npu.map {{.*}} with silu
func.func @not_monotone(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) -> tensor<1x3x2x2xf32> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %s = npu.map %c with silu : tensor<1x3x4x4xf32> -> tensor<1x3x4x4xf32>
  %p = npu.max_pool2d %s kernel [2, 2] strides [2, 2] : tensor<1x3x4x4xf32> -> tensor<1x3x2x2xf32>
  %t = npu.map %p with silu : tensor<1x3x2x2xf32> -> tensor<1x3x2x2xf32>
  func.return %t : tensor<1x3x2x2xf32>
}

// An average takes any function before it, but slopes by channel.
// CHECK-LABEL: func.func @averages
// CHECK-NEXT: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then silu then avg_pool [2, 2] by [2, 2] :
// CHECK-NEXT: npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then prelu [0.5, 0.25, 0.125] :
// CHECK-NEXT: npu.avg_pool2d
func.func @averages(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>) {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %s = npu.map %c with silu : tensor<1x3x4x4xf32> -> tensor<1x3x4x4xf32>
  %p = npu.avg_pool2d %s kernel [2, 2] strides [2, 2] : tensor<1x3x4x4xf32> -> tensor<1x3x2x2xf32>
  %d = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %t = npu.map %d with prelu [0.5, 0.25, 0.125] : tensor<1x3x4x4xf32> -> tensor<1x3x4x4xf32>
  %q = npu.avg_pool2d %t kernel [2, 2] strides [2, 2] : tensor<1x3x4x4xf32> -> tensor<1x3x2x2xf32>
  func.return %p, %q : tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>
}

// Two functions are two steps.
// CHECK-LABEL: func.func @two
// CHECK-NEXT: npu.fully_connected %x, %w then relu :
// CHECK-NEXT: npu.map {{.*}} with exp
func.func @two(%x: tensor<1x2xf32>, %w: tensor<3x2xf32>) -> tensor<1x3xf32> {
  %c = npu.fully_connected %x, %w : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<1x3xf32>
  %r = npu.relu %c : tensor<1x3xf32> -> tensor<1x3xf32>
  %e = npu.map %r with exp : tensor<1x3xf32> -> tensor<1x3xf32>
  func.return %e : tensor<1x3xf32>
}

// Bounds and a table are one table; one that is not monotone stays in front of its pool.
// CHECK-LABEL: func.func @tables
// CHECK-NEXT: npu.conv2d {{.*}} then requantize scales [0.5] zero_point 0 mode float then lookup signed "00{{[0-9a-f]*}}3f" then max_pool [2, 2] by [2, 2] :
// CHECK-NEXT: npu.lookup
func.func @tables(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xi8>) -> tensor<1x3x2x2xi8> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] : (tensor<1x2x4x4xi8>, tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xi32>
  %q = npu.requantize %c scales [0.5] zero_points [0, 0] mode float : tensor<1x3x4x4xi32> -> tensor<1x3x4x4xi8>
  %r = npu.clamp %q low 0.0 high 127.0 : tensor<1x3x4x4xi8> -> tensor<1x3x4x4xi8>
  %l = npu.lookup %r with lookup signed "c0c0c1c1c2c2c3c3c4c4c5c5c6c6c7c7c8c8c9c9cacacbcbcccccdcdcececfcfd0d0d1d1d2d2d3d3d4d4d5d5d6d6d7d7d8d8d9d9dadadbdbdcdcdddddededfdfe0e0e1e1e2e2e3e3e4e4e5e5e6e6e7e7e8e8e9e9eaeaebebececededeeeeefeff0f0f1f1f2f2f3f3f4f4f5f5f6f6f7f7f8f8f9f9fafafbfbfcfcfdfdfefeffff00000101020203030404050506060707080809090a0a0b0b0c0c0d0d0e0e0f0f10101111121213131414151516161717181819191a1a1b1b1c1c1d1d1e1e1f1f20202121222223232424252526262727282829292a2a2b2b2c2c2d2d2e2e2f2f30303131323233333434353536363737383839393a3a3b3b3c3c3d3d3e3e3f3f" : tensor<1x3x4x4xi8> -> tensor<1x3x4x4xi8>
  %p = npu.max_pool2d %l kernel [2, 2] strides [2, 2] : tensor<1x3x4x4xi8> -> tensor<1x3x2x2xi8>
  %n = npu.lookup %p with lookup signed "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100" : tensor<1x3x2x2xi8> -> tensor<1x3x2x2xi8>
  func.return %n : tensor<1x3x2x2xi8>
}
