// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches{order=liveness})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches{order=liveness},npu-reorder-branches{order=liveness})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches{order=liveness},npu-reorder-branches)' | filecheck %s --check-prefix=PAPER
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches{order=best})' 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: npu-reorder-branches: option order: expected one of paper, liveness, got 'best'

builtin.module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64}>} {

// %x has 512 bytes, a map of c channels c * 64. Algorithm 3 runs part 0 first, as it holds 4 channels (256 bytes): then part 1
// lives beside x and 128 bytes: 512 + 128 + 768. With part 1 first, x + 768, then x + 768 + 256; then x is dead: 768 + 256 + 128.
// PAPER-LABEL: func.func @x_dies
// PAPER-NOT: npu.peak
// PAPER: npu.branch part 0 required 256 {
// PAPER: npu.branch part 1 required 0 {
// CHECK-LABEL: func.func @x_dies
// CHECK: npu.module concat axis 1 of %x {npu.peak = 1408 : i64, npu.peak_bound = 1408 : i64} :
// CHECK: npu.branch part 0 required 256 {
// CHECK: npu.branch part 1 required 0 {
func.func @x_dies(%x: tensor<1x8x7x7xi8>, %w0: tensor<4x8x1x1xi8>, %w1: tensor<12x8x1x1xi8>, %w2: tensor<2x4x1x1xi8>) -> tensor<1x14x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x14x7x7xi8> {
    npu.branch part 1 {
      %a = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<12x8x1x1xi8>) -> tensor<1x12x7x7xi8>
      npu.yield %a : tensor<1x12x7x7xi8>
    }
    npu.branch part 0 {
      %b = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      %c = npu.conv2d %b, %w2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x7x7xi8>, tensor<2x4x1x1xi8>) -> tensor<1x2x7x7xi8>
      npu.yield %c : tensor<1x2x7x7xi8>
    }
  }
  func.return %y : tensor<1x14x7x7xi8>
}

// Part 1 needs more (7 channels beside its output), but its output is large too. Behind part 0 (64 bytes) it needs
// 512 + 64 + 448, then 64 + 448 + 768 as x is dead. Before it, 448 + 768 + 512 with x, which is still to be read.
// PAPER-LABEL: func.func @x_dies_in_the_hungriest
// PAPER: npu.branch part 1 required 448 {
// PAPER: npu.branch part 0 required 0 {
// CHECK-LABEL: func.func @x_dies_in_the_hungriest
// CHECK: npu.module concat axis 1 of %x {npu.peak = 1280 : i64, npu.peak_bound = 1280 : i64} :
// CHECK: npu.branch part 0 required 0 {
// CHECK: npu.branch part 1 required 448 {
func.func @x_dies_in_the_hungriest(%x: tensor<1x8x7x7xi8>, %w0: tensor<1x8x1x1xi8>, %w1: tensor<7x8x1x1xi8>, %w2: tensor<12x7x1x1xi8>) -> tensor<1x13x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x13x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<1x8x1x1xi8>) -> tensor<1x1x7x7xi8>
      npu.yield %a : tensor<1x1x7x7xi8>
    }
    npu.branch part 1 {
      %b = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<7x8x1x1xi8>) -> tensor<1x7x7x7xi8>
      %c = npu.conv2d %b, %w2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x7x7x7xi8>, tensor<12x7x1x1xi8>) -> tensor<1x12x7x7xi8>
      npu.yield %c : tensor<1x12x7x7xi8>
    }
  }
  func.return %y : tensor<1x13x7x7xi8>
}

// The same, but x is read behind the module, so it lives: part 1 first needs 512 + 448 + 768, part 1 last 64 more.
// CHECK-LABEL: func.func @x_is_read_behind
// CHECK: npu.module concat axis 1 of %x {npu.peak = 1728 : i64, npu.peak_bound = 1728 : i64} :
// CHECK: npu.branch part 1 required 448 {
// CHECK: npu.branch part 0 required 0 {
func.func @x_is_read_behind(%x: tensor<1x8x7x7xi8>, %w0: tensor<1x8x1x1xi8>, %w1: tensor<7x8x1x1xi8>, %w2: tensor<12x7x1x1xi8>) -> (tensor<1x13x7x7xi8>, tensor<1x8x7x7xi8>) {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x13x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<1x8x1x1xi8>) -> tensor<1x1x7x7xi8>
      npu.yield %a : tensor<1x1x7x7xi8>
    }
    npu.branch part 1 {
      %b = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<7x8x1x1xi8>) -> tensor<1x7x7x7xi8>
      %c = npu.conv2d %b, %w2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x7x7x7xi8>, tensor<12x7x1x1xi8>) -> tensor<1x12x7x7xi8>
      npu.yield %c : tensor<1x12x7x7xi8>
    }
  }
  func.return %y, %x : tensor<1x13x7x7xi8>, tensor<1x8x7x7xi8>
}
}
