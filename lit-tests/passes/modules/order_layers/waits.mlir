// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-order-layers{when=needed})' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-order-layers)' | filecheck %s --check-prefix=PEAK

// Maps have 256 bytes, the concatenation 1024: more than the chip. %b, which waits for %d, is made behind %a2.
// CHECK-LABEL: func.func @waits
// CHECK: npu.softmax %x
// CHECK-NEXT: %a = npu.max_pool2d %s
// CHECK-NEXT: %a2 = npu.softmax %a
// CHECK-NEXT: %b = npu.max_pool2d %s
// CHECK-NEXT: %b2 = npu.softmax %b
// CHECK-NEXT: %d = npu.max_pool2d %s
// CHECK-NEXT: %p = npu.add %b2, %d
// PEAK-LABEL: func.func @waits
// PEAK: npu.softmax %x
// PEAK-NEXT: %b = npu.max_pool2d %s
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 1000 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

func.func @waits(%x: tensor<1x1x8x8xf32>) -> tensor<1x4x2x2xf32> {
  %s = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b = npu.max_pool2d %s kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b2 = npu.softmax %b axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a = npu.max_pool2d %s kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a2 = npu.softmax %a axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %d = npu.max_pool2d %s kernel [5, 5] strides [1, 1] pads [2, 2, 2, 2] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %p = npu.add %b2, %d : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  %all = npu.concat %a2, %d, %p, %s axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %y = npu.max_pool2d %all kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  func.return %y : tensor<1x4x2x2xf32>
}

}

// -----

// The concatenation fits on the chip, though not beside the pool of it: nothing moves.
// CHECK-LABEL: func.func @joined_on_chip
// CHECK-NOT: npu.peak
// CHECK: npu.softmax %x
// CHECK-NEXT: %b = npu.max_pool2d %s
// CHECK-NEXT: %b2 = npu.softmax %b
// CHECK-NEXT: %a = npu.max_pool2d %s
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

func.func @joined_on_chip(%x: tensor<1x1x8x8xf32>) -> tensor<1x4x2x2xf32> {
  %s = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b = npu.max_pool2d %s kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b2 = npu.softmax %b axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a = npu.max_pool2d %s kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a2 = npu.softmax %a axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %d = npu.max_pool2d %s kernel [5, 5] strides [1, 1] pads [2, 2, 2, 2] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %p = npu.add %b2, %d : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  %all = npu.concat %a2, %d, %p, %s axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %wide = npu.max_pool2d %all kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %y = npu.max_pool2d %wide kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  func.return %y : tensor<1x4x2x2xf32>
}

}

// -----

// All maps fit.
// CHECK-LABEL: func.func @all_fits
// CHECK-NOT: npu.peak
// CHECK: npu.softmax %x
// CHECK-NEXT: %b = npu.max_pool2d %s
// CHECK-NEXT: %b2 = npu.softmax %b
// CHECK-NEXT: %a = npu.max_pool2d %s
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 2048 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {

func.func @all_fits(%x: tensor<1x1x8x8xf32>) -> tensor<1x4x2x2xf32> {
  %s = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b = npu.max_pool2d %s kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b2 = npu.softmax %b axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a = npu.max_pool2d %s kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a2 = npu.softmax %a axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %d = npu.max_pool2d %s kernel [5, 5] strides [1, 1] pads [2, 2, 2, 2] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %p = npu.add %b2, %d : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  %all = npu.concat %a2, %d, %p, %s axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %y = npu.max_pool2d %all kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  func.return %y : tensor<1x4x2x2xf32>
}

}
