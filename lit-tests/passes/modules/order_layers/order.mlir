// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers,npu-order-layers)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers{budget=0})' | filecheck %s --check-prefix=NONE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers{when=fits})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers,npu-bufferize,npu-concat-in-place,npu-assign-sram-offsets)' | filecheck %s --check-prefix=ARENA
// NONE-NOT: npu.peak

builtin.module {

// %x and %a have 256 bytes, %big 1024. In the given order %big lives beside both. Before %a, it lives beside %x; then %a
// overwrites %x. The weight moves with its layer; the view follows the layer whose map it shows.
// CHECK-LABEL: func.func @large_maps_first
// CHECK-SAME: npu.peak = 1344 : i64, npu.peak_bound = 1344 : i64
// CHECK-NEXT: %big = npu.concat %x, %x, %x, %x axis 1
// CHECK-NEXT: %s = npu.max_pool2d %big
// CHECK-NEXT: %flat = npu.reshape %s
// CHECK-NEXT: %a = npu.softmax %x
// CHECK-NEXT: %w = arith.constant
// CHECK-NEXT: %c = npu.conv2d %a, %w
// CHECK-NEXT: %line = npu.reshape %c
// CHECK-NEXT: %y = npu.concat %line, %flat axis 1
// CHECK-NEXT: func.return %y
// ARENA-LABEL: func.func @large_maps_first
// ARENA-SAME: sram.arena = 1344
// NONE-LABEL: func.func @large_maps_first
// NONE: npu.softmax
// NONE: npu.concat %x
func.func @large_maps_first(%x: tensor<1x1x8x8xf32>) -> tensor<1x32xf32> {
  %w = arith.constant dense<1.0> : tensor<1x1x2x2xf32>
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  %flat = npu.reshape %s : tensor<1x4x2x2xf32> -> tensor<1x16xf32>
  %c = npu.conv2d %a, %w strides [2, 2] pads [0, 0, 0, 0] : (tensor<1x1x8x8xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  %line = npu.reshape %c : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  %y = npu.concat %line, %flat axis 1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
  func.return %y : tensor<1x32xf32>
}

}
