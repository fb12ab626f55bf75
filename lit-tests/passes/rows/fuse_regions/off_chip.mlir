// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-regions{when=needed}' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-regions{when=needed},npu-bufferize' | filecheck %s --check-prefix=LOOP

// A map of 1024 and one of 256 bytes do not fit beside each other. The input lies off chip, so its rows are fetched into a ring of three.
// CHECK-LABEL: func.func @fetched
// CHECK:      npu.rows of %x attributes {npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} {npu.row_time = array<i64: 1, 1>, npu.ring = 3 : i64}
// CHECK-NEXT:   npu.conv2d {{.*}} {npu.row_time = array<i64: 2, 2>}
// LOOP-LABEL: func.func @fetched
// LOOP:       dma.reads %x
// LOOP-NEXT:  %[[RING:.*]] = sram.alloc : memref<1x1x3x16xf32, #npu.sram>
// LOOP:       scf.for %t
// LOOP:         %[[NEWEST:.*]] = memref.subview %[[RING]][0, 0, %slot, 0]
// LOOP:         dma.start {{.*}} to %[[NEWEST]]
module attributes {npu.target = #npu.target<"dma", {sram_bytes = 750 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @fetched(%x : tensor<1x1x16x16xf32>, %w : tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] : (tensor<1x1x16x16xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x16x16xf32>
    %1 = npu.conv2d %0, %w strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x1x16x16xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32>
    %2 = npu.softmax %1 axis 1 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
    func.return %2 : tensor<1x1x8x8xf32>
  }
}

// -----

// The sum puts each row where it has read one: the region's input is overwritten by its output.
// CHECK-LABEL: func.func @in_place
// CHECK:      npu.rows of %[[X:.*]] : tensor
// CHECK-NEXT:   %[[C:.*]] = npu.conv2d %[[X]], {{.*}} npu.ring = 3
// CHECK-NEXT:   %[[D:.*]] = npu.conv2d %[[C]], {{.*}} npu.ring = 1
// CHECK-NEXT:   npu.add %[[D]], %[[X]]
// LOOP-LABEL: func.func @in_place
// LOOP:      %[[MAP:.*]] = sram.alloc : memref<1x4x16x16xf32, #npu.sram>
// LOOP:      %row = memref.subview %[[MAP]]
// LOOP-NEXT: npu.add ins(%{{.*}}, %row : {{.*}} outs(%row
// LOOP:      npu.softmax ins(%[[MAP]]
module attributes {npu.target = #npu.target<"dma", {sram_bytes = 5000 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @in_place(%x : tensor<1x4x16x16xf32>, %w : tensor<1x4x3x3xf32>, %v : tensor<4x1x3x3xf32>) -> tensor<1x4x16x16xf32> {
    %0 = npu.relu %x : tensor<1x4x16x16xf32> -> tensor<1x4x16x16xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] : (tensor<1x4x16x16xf32>, tensor<1x4x3x3xf32>) -> tensor<1x1x16x16xf32>
    %2 = npu.conv2d %1, %v pads [1, 1, 1, 1] : (tensor<1x1x16x16xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x16x16xf32>
    %3 = npu.add %2, %0 : (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
    %4 = npu.softmax %3 axis 1 : tensor<1x4x16x16xf32> -> tensor<1x4x16x16xf32>
    func.return %4 : tensor<1x4x16x16xf32>
  }
}

// -----

// A map of 4096 bytes never fits, so its rows are fetched, one round ahead, and those of the result leave. The ring keeps a row until the sum has read it: the map is moved once for both branches.
// CHECK-LABEL: func.func @larger_than_the_memory
// CHECK:      %[[X:.*]] = npu.softmax
// CHECK-NEXT: npu.rows of %[[X]] attributes {npu.overlap_rows, npu.row_buffer, npu.row_time = array<i64: 1, 0>, npu.ring = 3 : i64}
// CHECK-NEXT:   %[[C:.*]] = npu.conv2d %[[X]], {{.*}} npu.ring = 3
// CHECK-NEXT:   %[[D:.*]] = npu.conv2d %[[C]]
// CHECK-NEXT:   npu.add %[[D]], %[[X]]
// LOOP-LABEL: func.func @larger_than_the_memory
// LOOP-DAG:   %[[MAP:.*]] = sram.alloc : memref<1x4x16x16xf32, #npu.sram>
// LOOP-DAG:   %[[RING:.*]] = sram.alloc : memref<1x4x3x16xf32, #npu.sram>
// LOOP:       %[[LINE:line.*]] = sram.alloc : memref<1x4x1x16xf32, #npu.sram>
// LOOP-NEXT:  scf.for %t
// LOOP-NEXT:    %[[AT:.*]] = arith.addi %t
// LOOP-NEXT:    %[[ARRIVED:.*]] = memref.subview %[[MAP]][0, 0, %[[AT]], 0]
// LOOP-NEXT:    "memref.copy"(%[[ARRIVED]], %[[LINE]])
// LOOP-NOT:     scf.if
// LOOP:         %[[NEWEST:.*]] = memref.subview %[[RING]][0, 0, 2, 0]
// LOOP-NEXT:    "memref.copy"(%[[LINE]], %[[NEWEST]])
// LOOP:         npu.add ins({{.*}}) outs(%row :
// LOOP-NEXT:    "memref.copy"(%row, %
// LOOP:       } {npu.overlap_rows}
module attributes {npu.target = #npu.target<"dma", {sram_bytes = 2500 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @larger_than_the_memory(%x : tensor<1x4x16x16xf32>, %w : tensor<1x4x3x3xf32>, %v : tensor<4x1x3x3xf32>) -> tensor<1x4x16x16xf32> {
    %0 = npu.softmax %x axis 2 : tensor<1x4x16x16xf32> -> tensor<1x4x16x16xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] : (tensor<1x4x16x16xf32>, tensor<1x4x3x3xf32>) -> tensor<1x1x16x16xf32>
    %2 = npu.conv2d %1, %v pads [1, 1, 1, 1] : (tensor<1x1x16x16xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x16x16xf32>
    %3 = npu.add %2, %0 : (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
    %4 = npu.softmax %3 axis 2 : tensor<1x4x16x16xf32> -> tensor<1x4x16x16xf32>
    func.return %4 : tensor<1x4x16x16xf32>
  }
}
