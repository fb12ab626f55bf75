// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches{working-memory=stride-1-map})' | filecheck %s --check-prefix=STRIDE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches,npu-reorder-branches)' | filecheck %s

builtin.module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64}>} {

// 7x7 is stored as 8x8. Part 2 holds 12 channels (768 bytes) and 8 kernels of 8 weights (64) in its first layer, part 0 holds
// 4 kernels (32). Outputs of branches lie in the MOFM: they do not count. What costs nothing is last.
// CHECK-LABEL: func.func @hungriest_first
// CHECK: npu.branch part 2 required 832 {
// CHECK: npu.branch part 0 required 32 {
// CHECK: npu.branch part 1 required 0 {
// CHECK-NEXT: npu.yield %x
// STRIDE-LABEL: func.func @hungriest_first
func.func @hungriest_first(%x: tensor<1x8x7x7xi8>, %w0: tensor<4x8x1x1xi8>, %w1: tensor<12x8x1x1xi8>, %w2: tensor<4x12x1x1xi8>) -> tensor<1x16x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x16x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x8x7x7xi8>
    }
    npu.branch part 2 {
      %b = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<12x8x1x1xi8>) -> tensor<1x12x7x7xi8>
      %r = npu.relu %b : tensor<1x12x7x7xi8> -> tensor<1x12x7x7xi8>
      %c = npu.conv2d %r, %w2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x12x7x7xi8>, tensor<4x12x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %c : tensor<1x4x7x7xi8>
    }
  }
  func.return %y : tensor<1x16x7x7xi8>
}

// The same need: the order stays, whatever the parts are. Pools need no stride-1 maps.
// CHECK-LABEL: func.func @ties
// CHECK: npu.branch part 1 required 0 {
// CHECK: npu.branch part 2 required 0 {
// CHECK: npu.branch part 0 required 0 {
// STRIDE-LABEL: func.func @ties
// STRIDE: npu.branch part 1 required 0 {
// STRIDE: npu.branch part 2 required 0 {
// STRIDE: npu.branch part 0 required 0 {
func.func @ties(%x: tensor<1x8x8x8xi8>) -> tensor<1x24x4x4xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x24x4x4xi8> {
    npu.branch part 1 {
      %a = npu.max_pool2d %x kernel [5, 5] strides [1, 1] : tensor<1x8x8x8xi8> -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
    npu.branch part 2 {
      %a = npu.max_pool2d %x kernel [5, 5] strides [1, 1] : tensor<1x8x8x8xi8> -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
    npu.branch part 0 {
      %a = npu.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x8x8x8xi8> -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
  }
  func.return %y : tensor<1x24x4x4xi8>
}

// With stride-1 maps a convolution of stride 2 needs its map at stride 1, 4 channels of 64 bytes; beside it 4 kernels (32).
// Part 1 has 8 kernels of 25 weights.
// CHECK-LABEL: func.func @strides
// CHECK: npu.branch part 1 required 200 {
// CHECK: npu.branch part 0 required 32 {
// STRIDE-LABEL: func.func @strides
// STRIDE: npu.branch part 0 required 288 {
// STRIDE: npu.branch part 1 required 200 {
func.func @strides(%x: tensor<1x8x8x8xi8>, %w0: tensor<4x8x1x1xi8>, %w1: tensor<8x1x5x5xi8>) -> tensor<1x12x4x4xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x12x4x4xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [2, 2] pads [0, 0, 0, 0] : (tensor<1x8x8x8xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x4x4xi8>
      npu.yield %a : tensor<1x4x4x4xi8>
    }
    npu.branch part 1 {
      %a = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] groups 8 : (tensor<1x8x8x8xi8>, tensor<8x1x5x5xi8>) -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
  }
  func.return %y : tensor<1x12x4x4xi8>
}

// The branches of a nested module too; the map it starts from is held by the branch around it (512 bytes).
// CHECK-LABEL: func.func @nested
// CHECK: npu.branch part 1 required 544 {
// CHECK: npu.module add
// CHECK: npu.branch part 1 required 32 {
// CHECK: npu.branch part 0 required 0 {
// CHECK: npu.branch part 0 required 0 {
// STRIDE-LABEL: func.func @nested
func.func @nested(%x: tensor<1x8x8x8xi8>, %w: tensor<8x4x1x1xi8>) -> tensor<1x16x8x8xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x16x8x8xi8> {
    npu.branch part 0 {
      %a = npu.max_pool2d %x kernel [1, 1] strides [1, 1] : tensor<1x8x8x8xi8> -> tensor<1x8x8x8xi8>
      npu.yield %a : tensor<1x8x8x8xi8>
    }
    npu.branch part 1 {
      %a = npu.max_pool2d %x kernel [1, 1] strides [1, 1] : tensor<1x8x8x8xi8> -> tensor<1x8x8x8xi8>
      %b = npu.module add of %a : tensor<1x8x8x8xi8> -> tensor<1x8x8x8xi8> {
        npu.branch part 0 {
          npu.yield %a : tensor<1x8x8x8xi8>
        }
        npu.branch part 1 {
          %c = npu.conv2d %a, %w strides [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x8x8x8xi8>, tensor<8x4x1x1xi8>) -> tensor<1x8x8x8xi8>
          npu.yield %c : tensor<1x8x8x8xi8>
        }
      }
      npu.yield %b : tensor<1x8x8x8xi8>
    }
  }
  func.return %y : tensor<1x16x8x8xi8>
}
}
