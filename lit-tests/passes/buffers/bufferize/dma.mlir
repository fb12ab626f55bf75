// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// A machine with DMA: parameters, inputs and outputs lie behind it; maps lie on chip, in patches of 4x4
// elements. An input is not overwritten; the last layer writes straight into the caller's memory.

builtin.module attributes {npu.target = #npu.target<"exynos-npu", {sram_bytes = 1048576 : i64, flash_bytes = 1073741824 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, dma_channels = 4 : i64}>} {

// CHECK-LABEL: "memref.global"() <{sym_name = "w", type = memref<6x1x5x5xf32, #npu.dram>
// CHECK:      func.func @chain(%image: memref<1x1x10x10xf32, #npu.dram> {npu.name = "image", dram.input}, %scores: memref<1x10xf32, #npu.dram> {npu.name = "scores", dram.output}) {
// CHECK-NEXT:   %w = memref.get_global @w : memref<6x1x5x5xf32, #npu.dram>
// CHECK-NEXT:   %r = sram.alloc : memref<1x1x10x10xf32, strided<[144, 144, 12, 1]>, #npu.sram>
// CHECK-NEXT:   npu.relu ins(%image : memref<1x1x10x10xf32, #npu.dram>) outs(%r :
// CHECK-NEXT:   %a = sram.alloc : memref<1x6x6x6xf32, strided<[384, 64, 8, 1]>, #npu.sram>
// CHECK-NEXT:   npu.conv2d ins(%r, %w : memref<1x1x10x10xf32, strided<[144, 144, 12, 1]>, #npu.sram>, memref<6x1x5x5xf32, #npu.dram>) outs(%a : memref<1x6x6x6xf32, strided<[384, 64, 8, 1]>, #npu.sram>)
// CHECK-NEXT:   npu.relu ins(%a : memref<1x6x6x6xf32, strided<[384, 64, 8, 1]>, #npu.sram>) outs(%a : memref<1x6x6x6xf32, strided<[384, 64, 8, 1]>, #npu.sram>)
// A flatten needs the elements one behind the other.
// CHECK-NEXT:   %b = sram.alloc : memref<1x6x6x6xf32, #npu.sram>
// CHECK-NEXT:   "memref.copy"(%a, %b)
// CHECK-NEXT:   %flat = memref.reinterpret_cast %b to offset: [0], sizes: [1, 216], strides: [216, 1] : memref<1x6x6x6xf32, #npu.sram> to memref<1x216xf32, #npu.sram>
// CHECK-NEXT:   memref.get_global @w2
// CHECK-NEXT:   npu.fully_connected ins(%flat, %w2 : memref<1x216xf32, #npu.sram>, memref<10x216xf32, #npu.dram>) outs(%scores : memref<1x10xf32, #npu.dram>)
// CHECK-NEXT:   func.return
func.func @chain(%image: tensor<1x1x10x10xf32> {npu.name = "image"}) -> (tensor<1x10xf32> {npu.name = "scores"}) {
  %w = arith.constant dense<0.5> : tensor<6x1x5x5xf32>
  %r = npu.relu %image : tensor<1x1x10x10xf32> -> tensor<1x1x10x10xf32>
  %a = npu.conv2d %r, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x10x10xf32>, tensor<6x1x5x5xf32>) -> tensor<1x6x6x6xf32>
  %b = npu.relu %a : tensor<1x6x6x6xf32> -> tensor<1x6x6x6xf32>
  %flat = npu.reshape %b : tensor<1x6x6x6xf32> -> tensor<1x216xf32>
  %w2 = arith.constant dense<0.25> : tensor<10x216xf32>
  %y = npu.fully_connected %flat, %w2 : (tensor<1x216xf32>, tensor<10x216xf32>) -> tensor<1x10xf32>
  func.return %y : tensor<1x10xf32>
}

// Strides can split the channels of a map in patches. Maps of one element a channel, and those that fill
// their patches, have no gaps.

// CHECK-LABEL: func.func @views
// CHECK: %s = memref.reinterpret_cast %a to offset: [0], sizes: [1, 2, 3, 6, 6], strides: [384, 192, 64, 8, 1] : {{.*}} to memref<1x2x3x6x6xf32, strided<[384, 192, 64, 8, 1]>, #npu.sram>
// CHECK: %m = sram.alloc : memref<1x6x4x4xf32, #npu.sram>
// CHECK: %g = sram.alloc : memref<1x6x1x1xf32, #npu.sram>
// CHECK: %v = memref.reinterpret_cast %g to offset: [0], sizes: [1, 6], strides: [6, 1]
func.func @views(%x: tensor<1x6x6x6xf32>) -> (tensor<1x3x2x6x6xf32>, tensor<1x6xf32>) {
  %a = npu.relu %x : tensor<1x6x6x6xf32> -> tensor<1x6x6x6xf32>
  %s = npu.reshape %a : tensor<1x6x6x6xf32> -> tensor<1x2x3x6x6xf32>
  %t = npu.transpose %s perm [0, 2, 1, 3, 4] : tensor<1x2x3x6x6xf32> -> tensor<1x3x2x6x6xf32>
  %m = npu.max_pool2d %a kernel [3, 3] strides [1, 1] : tensor<1x6x6x6xf32> -> tensor<1x6x4x4xf32>
  %g = npu.global_avg_pool2d %m : tensor<1x6x4x4xf32> -> tensor<1x6x1x1xf32>
  %v = npu.reshape %g : tensor<1x6x1x1xf32> -> tensor<1x6xf32>
  %y = npu.softmax %v axis 1 : tensor<1x6xf32> -> tensor<1x6xf32>
  func.return %t, %y : tensor<1x3x2x6x6xf32>, tensor<1x6xf32>
}

// What is read or overwritten again is computed on chip, and copied at the end; no transfer leads from the
// caller's memory to itself.

// CHECK-LABEL: func.func @outputs
// CHECK-SAME: (%x: memref<4xf32, #npu.dram> {dram.input}, %output: memref<4xf32, #npu.dram> {dram.output}, %output_1: {{.*}}, %output_2:
// CHECK-NEXT: %y = sram.alloc
// CHECK-NEXT: npu.relu ins(%x : memref<4xf32, #npu.dram>) outs(%y :
// CHECK-NEXT: npu.softmax ins(%y : {{.*}}) outs(%output_1 : memref<4xf32, #npu.dram>)
// CHECK-NEXT: "memref.copy"(%y, %output)
// CHECK-NEXT: %x_1 = sram.alloc
// CHECK-NEXT: "memref.copy"(%x, %x_1)
// CHECK-NEXT: "memref.copy"(%x_1, %output_2)
func.func @outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  %z = npu.softmax %y axis 0 : tensor<4xf32> -> tensor<4xf32>
  func.return %y, %z, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

}
