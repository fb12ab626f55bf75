// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers)' | filecheck %s --check-prefixes=CHECK,ALWAYS
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers{when=needed})' | filecheck %s --check-prefixes=CHECK,NEEDED

// With DMA, inputs and outputs lie off chip: only %big, of 1024 bytes, %s and what the softmax makes count.
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 1344 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

// 1024 + 256 + 64 bytes fit; in another order 1088 suffice.
// CHECK-LABEL: func.func @fits
// ALWAYS: npu.peak = 1088
// ALWAYS: npu.concat
// ALWAYS: npu.softmax
// NEEDED-NOT: npu.peak
// NEEDED: npu.softmax
// NEEDED: npu.concat
func.func @fits(%x: tensor<1x1x8x8xf32>) -> tensor<1x32xf32> {
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
