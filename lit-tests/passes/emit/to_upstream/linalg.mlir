// RUN: npu-opt %s -p npu-bufferize,npu-assign-sram-offsets,npu-to-upstream | filecheck %s
// RUN: npu-opt %s -p "npu-attach-target{target=exynos-npu},npu-bufferize,npu-spill-maps,npu-tile-loops,npu-double-buffer,npu-assign-sram-offsets,npu-assign-dram-offsets,npu-to-upstream" | filecheck %s --check-prefix=TILES
// UPSTREAM: npu-bufferize,npu-assign-sram-offsets,npu-to-upstream
// UPSTREAM: npu-attach-target{target=exynos-npu},npu-bufferize,npu-spill-maps,npu-tile-loops,npu-double-buffer,npu-assign-sram-offsets,npu-assign-dram-offsets,npu-to-upstream{sram-space=1}

// Ops of linalg between our passes stay what they are; their buffers are views.

// CHECK-LABEL: func.func @network(
// CHECK-SAME:    %x: memref<1x16xf32>, %output: memref<1x8xf32>, %arena: memref<96xi8>) {
// CHECK:         "memref.copy"(%b, %output_map)
// CHECK-NEXT:    linalg.matmul ins(%x_map, %w : memref<1x16xf32>, memref<16x8xf32>)
// CHECK-SAME:      outs(%output_map : memref<1x8xf32>)

// TILES-LABEL: func.func @network(
// TILES-SAME:    %x: memref<1x16xf32>, %output: memref<1x8xf32>, %arena: memref<{{.*}}xi8>) {
// TILES:         func.call @npu_transfer_read_2d_f32(
// TILES:         linalg.matmul ins(
// TILES:         func.call @npu_transfer_write_2d_f32(
func.func @network(%x: tensor<1x16xf32>) -> tensor<1x8xf32> {
  %w = arith.constant dense<0.5> : tensor<16x8xf32>
  %b = arith.constant dense<1.0> : tensor<1x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<1x16xf32>, tensor<16x8xf32>) outs(%b : tensor<1x8xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}
