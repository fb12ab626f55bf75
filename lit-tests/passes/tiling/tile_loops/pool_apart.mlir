// RUN: npu-opt %s --pass-pipeline=npu-tile-loops | filecheck %s

// The whole map is in one pooling window: 16 channels at once do not fit, so sums have a buffer, and
// the pool comes when they are complete.

// CHECK-LABEL: func.func @conv
// CHECK: %sums = sram.alloc : memref<1x8x4x4xf32, #npu.sram>
// CHECK-NOT: max_pool
// CHECK: npu.conv2d ins({{.*}} outs(%sums : {{.*}} pads [0, 0, 0, 0] {npu.layer = "c"
// CHECK: scf.for %in
// CHECK: npu.conv2d ins({{.*}} outs(%sums : {{.*}} accumulate {npu.layer = "c"
// CHECK-NOT: max_pool
// CHECK: npu.conv2d ins({{.*}} outs(%sums : {{.*}} accumulate then relu {npu.layer = "c"
// CHECK-NEXT: npu.max_pool2d ins(%sums : {{.*}} outs(%y_tile : memref<1x8x1x1xf32, #npu.sram>) kernel [4, 4]
// CHECK-NEXT: dma.start %y_tile to %y
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 900 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @conv(%x: memref<1x16x4x4xf32, #npu.dram>, %w: memref<8x16x1x1xf32, #npu.dram>, %b: memref<8xf32, #npu.dram>, %y: memref<1x8x1x1xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w, %b : memref<1x16x4x4xf32, #npu.dram>, memref<8x16x1x1xf32, #npu.dram>, memref<8xf32, #npu.dram>) outs(%y : memref<1x8x1x1xf32, #npu.dram>) strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [4, 4] by [4, 4] {npu.layer = "c"}
    func.return
  }
}
