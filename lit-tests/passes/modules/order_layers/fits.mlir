// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-order-layers)' | filecheck %s --check-prefix=ALWAYS
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-order-layers{when=fits})' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-order-layers{when=needed})' | filecheck %s --check-prefix=NEEDED

// With DMA, inputs and outputs lie off chip: only %big, of 1024 bytes, %s and what the softmax makes count: 1024 + 256 + 64 bytes.
// In another order 1088 suffice.

// The given order fits.
// ALWAYS-LABEL: func.func @fits_already
// ALWAYS-SAME: npu.peak = 1088
// NEEDED-LABEL: func.func @fits_already
// NEEDED-NOT: npu.peak
// NEEDED: npu.softmax
// CHECK-LABEL: func.func @fits_already
// CHECK-NOT: npu.peak
// CHECK: npu.softmax
// CHECK: npu.concat
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 1344 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

func.func @fits_already(%x: tensor<1x1x8x8xf32>) -> tensor<1x32xf32> {
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %c = npu.max_pool2d %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  %flat = npu.reshape %s : tensor<1x4x2x2xf32> -> tensor<1x16xf32>
  %line = npu.reshape %c : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  %y = npu.concat %line, %flat axis 1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
  func.return %y : tensor<1x32xf32>
}

}

// -----

// Only the other order fits.
// ALWAYS-LABEL: func.func @fits_then
// ALWAYS-SAME: npu.peak = 1088
// NEEDED-LABEL: func.func @fits_then
// NEEDED-SAME: npu.peak = 1088
// CHECK-LABEL: func.func @fits_then
// CHECK-SAME: npu.peak = 1088
// CHECK: npu.concat
// CHECK: npu.softmax
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 1300 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

func.func @fits_then(%x: tensor<1x1x8x8xf32>) -> tensor<1x32xf32> {
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %c = npu.max_pool2d %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  %flat = npu.reshape %s : tensor<1x4x2x2xf32> -> tensor<1x16xf32>
  %line = npu.reshape %c : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  %y = npu.concat %line, %flat axis 1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
  func.return %y : tensor<1x32xf32>
}

}

// -----

// No order fits.
// ALWAYS-LABEL: func.func @fits_never
// ALWAYS-SAME: npu.peak = 1088
// NEEDED-LABEL: func.func @fits_never
// NEEDED-SAME: npu.peak = 1088
// CHECK-LABEL: func.func @fits_never
// CHECK-NOT: npu.peak
// CHECK: npu.softmax
// CHECK: npu.concat
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 1087 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

func.func @fits_never(%x: tensor<1x1x8x8xf32>) -> tensor<1x32xf32> {
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %c = npu.max_pool2d %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  %flat = npu.reshape %s : tensor<1x4x2x2xf32> -> tensor<1x16xf32>
  %line = npu.reshape %c : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  %y = npu.concat %line, %flat axis 1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
  func.return %y : tensor<1x32xf32>
}

}
