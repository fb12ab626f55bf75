// RUN: npu-opt %s --pass-pipeline=npu-tile-loops | filecheck %s

// What a convolution adds is cut like its output: in place it is fetched into the tile that goes back. All input
// channels are in a tile, for the sums are finished where they are added.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1500 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @in_place
  // CHECK: scf.for
  // CHECK: dma.start %part{{.*}} to %x_tile channel 1
  // CHECK: [[PART:%part[_0-9]*]] = memref.subview %r
  // CHECK-NEXT: dma.start [[PART]] to [[TILE:%r_tile[_0-9]*]] channel
  // CHECK: npu.conv2d ins(%x_tile{{[_0-9]*}}, %w_tile, [[TILE]] : memref<1x4x{{.*}}) outs([[TILE]] : {{.*}} then add residual first then relu
  // CHECK: dma.start [[TILE]] to
  func.func @in_place(%x: memref<1x4x16x16xf32, #npu.dram>, %w: memref<2x4x1x1xf32, #npu.dram>, %r: memref<1x2x16x16xf32, #npu.dram>) {
    npu.conv2d ins(%x, %w, %r : memref<1x4x16x16xf32, #npu.dram>, memref<2x4x1x1xf32, #npu.dram>, memref<1x2x16x16xf32, #npu.dram>) outs(%r : memref<1x2x16x16xf32, #npu.dram>) strides [1, 1] pads [0, 0, 0, 0] then add residual first then relu
    func.return
  }
}
