// RUN: npu-opt %s -p npu-bufferize | filecheck %s

// The first convolution reads every second row. The others are not fetched, also not the last one.
// CHECK-LABEL: func.func @skipped
// CHECK: [[RING:%.*]] = sram.alloc : memref<1x4x1x8xi8, #npu.sram>
// CHECK: [[LINE:%.*]] = sram.alloc : memref<1x4x1x8xi8, #npu.sram>
// CHECK-NEXT: scf.for [[T:%.*]] = %c0 to %c7
// CHECK: [[ROW:%.*]] = arith.muli [[T]], %c2
// CHECK-NEXT: [[FROM:%.*]] = memref.subview %x[0, 0, [[ROW]], 0] [1, 4, 1, 8]
// CHECK-NEXT: dma.start [[FROM]] to [[LINE]]
// CHECK: "memref.copy"([[LINE]], [[RING]])
// CHECK-NEXT: npu.conv2d ins([[RING]]
// CHECK-NOT: [[LINE]]
// CHECK: npu.overlap_rows
// CHECK: [[FROM:%.*]] = memref.subview %x[0, 0, 14, 0]
// CHECK-NEXT: dma.start [[FROM]] to [[RING]]
// CHECK-NOT: memref.subview %x
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @skipped(%x : tensor<1x4x16x8xi8>, %w : tensor<4x4x1x1xi8>, %v : tensor<4x4x1x1xi8>) -> tensor<1x4x8x4xi8> {
    %y = npu.rows of %x attributes {npu.overlap_rows, npu.row_time = array<i64: 1, 0>, npu.ring = 1 : i64} : tensor<1x4x16x8xi8> -> tensor<1x4x8x4xi8> {
      %0 = npu.conv2d %x, %w strides [2, 2] {npu.ring = 1, npu.row_time = array<i64: 2, 0>} : (tensor<1x4x16x8xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x8x4xi8>
      %1 = npu.conv2d %0, %v {npu.row_time = array<i64: 2, 0>} : (tensor<1x4x8x4xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x8x4xi8>
      npu.yield %1 : tensor<1x4x8x4xi8>
    }
    func.return %y : tensor<1x4x8x4xi8>
  }
}
