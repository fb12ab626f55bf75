// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// Rows behind the DMA engine: parameters come whole, rows of the input by themselves (those of the padding
// not at all), rows of the output leave from a buffer of one. Three channels: the output's is 3 modulo 3.

builtin.module attributes {npu.target = #npu.target<"exynos-npu", {sram_bytes = 1048576 : i64, flash_bytes = 1073741824 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, dma_channels = 3 : i64}>} {

// CHECK-LABEL: func.func @caller_to_caller
// CHECK-DAG:   %window = sram.alloc : memref<1x3x3x7xf32, #npu.sram>
// CHECK-DAG:   %x_1 = sram.alloc : memref<1x1x3x7xf32, #npu.sram>
// CHECK:       %row = sram.alloc : memref<1x2x1x5xf32, #npu.sram>
// CHECK-NEXT:  %w0_1 = sram.alloc : memref<3x1x3x3xf32, #npu.sram>
// CHECK-NEXT:  %t = dma.start weights %w0 to %w0_1 channel 0
// CHECK-NEXT:  dma.wait %t
// CHECK-NEXT:  %w1_1 = sram.alloc
// CHECK-NEXT:  dma.start weights %w1 to %w1_1 channel 0
// CHECK-NEXT:  dma.wait
// CHECK-NEXT:  dma.reads %x : memref<1x1x9x7xf32, #npu.dram>
// CHECK-NEXT:  dma.writes %output : memref<1x2x7x5xf32, #npu.dram>
// CHECK-NEXT:  scf.for
// CHECK:         arith.cmpi ult, %s_1, %c9
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      %line = memref.subview %x[0, 0, %s_1, 0] [1, 1, 1, 7]
// CHECK-NEXT:      [[T:%[a-z0-9_]+]] = dma.start %line to {{%[a-z0-9_]+}} channel 1
// CHECK-NEXT:      dma.wait [[T]]
// CHECK-NEXT:    } else {
// CHECK:           memref.store %cst
// CHECK:         npu.conv2d ins(%x_1, %w0_1 :
// CHECK:       npu.conv2d ins(%window, %w1_1 : {{.*}}) outs(%row :
// CHECK-NEXT:  [[T:%[a-z0-9_]+]] = dma.start %row to {{%[a-z0-9_]+}} channel 0
// CHECK-NEXT:  dma.wait [[T]]
func.func @caller_to_caller(%x: tensor<1x1x9x7xf32>) -> tensor<1x2x7x5xf32> {
  %w0 = arith.constant dense<0.5> : tensor<3x1x3x3xf32>
  %w1 = arith.constant dense<0.25> : tensor<2x3x3x3xf32>
  %y = npu.rows of %x : tensor<1x1x9x7xf32> -> tensor<1x2x7x5xf32> {
    %0 = npu.conv2d %x, %w0 strides [1, 1] pads [1, 1, 1, 1] {npu.ring = 3 : i64} : (tensor<1x1x9x7xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x9x7xf32>
    %1 = npu.conv2d %0, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x3x9x7xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x7x5xf32>
    npu.yield %1 : tensor<1x2x7x5xf32>
  }
  func.return %y : tensor<1x2x7x5xf32>
}

// A map on chip is read in place where nothing is padded, and rows are written into their map. In a plan for
// integers, padding that never wins is the least one.

// CHECK-LABEL: func.func @on_chip
// CHECK:       %y = sram.alloc : memref<1x1x7x5xi8, strided<[64, 64, 8, 1]>, #npu.sram>
// CHECK:       %cst = arith.constant -128 : i8
// CHECK:       %w0_1 = sram.alloc
// CHECK-NOT:   dma.reads
// CHECK:       scf.for
// CHECK-NEXT:    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 5] {{.*}} to memref<1x1x1x5xi8, strided<[64, 64, 8, 1], offset: ?>, #npu.sram>
// CHECK:         %window_1 = memref.subview %a[0, 0, {{.*}}, 0] [1, 1, 3, 7] {{.*}} to memref<1x1x3x7xi8, strided<[96, 96, 8, 1], offset: ?>, #npu.sram>
// CHECK-NOT:   dma.start
// CHECK:         memref.store %cst
// CHECK:       npu.transpose ins(%y : {{.*}}) outs(%output :
func.func @on_chip(%x: tensor<1x1x9x7xi8>) -> tensor<1x1x7x5xi8> {
  %a = npu.relu %x : tensor<1x1x9x7xi8> -> tensor<1x1x9x7xi8>
  %w0 = arith.constant dense<1> : tensor<1x1x3x3xi8>
  %y = npu.rows of %a : tensor<1x1x9x7xi8> -> tensor<1x1x7x5xi8> {
    %0 = npu.conv2d %a, %w0 strides [1, 1] pads [0, 0, 0, 0] {npu.ring = 3 : i64} : (tensor<1x1x9x7xi8>, tensor<1x1x3x3xi8>) -> tensor<1x1x7x5xi8>
    %1 = npu.max_pool2d %0 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x7x5xi8> -> tensor<1x1x7x5xi8>
    npu.yield %1 : tensor<1x1x7x5xi8>
  }
  %z = npu.transpose %y perm [0, 1, 2, 3] : tensor<1x1x7x5xi8> -> tensor<1x1x7x5xi8>
  func.return %z : tensor<1x1x7x5xi8>
}

}
