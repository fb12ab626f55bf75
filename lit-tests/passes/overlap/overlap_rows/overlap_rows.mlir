// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-overlap-rows' | filecheck %s

// Rows of %x arrive in %line, and are copied to %ring; rows of %y are computed in %row. Row 0 arrives in front of all rounds. In each round, the next row arrives once the buffer has been read, and the last one leaves until the buffer is written.
// CHECK-LABEL: func.func @both
// CHECK:      dma.start %{{.*}} to %line channel 1
// CHECK-NEXT: dma.wait
// CHECK-NEXT: npu.relu ins(%line
// CHECK:      %[[FIRST:.*]] = dma.start %{{.*}} to %line channel 1
// CHECK-NEXT: npu.relu ins(%ring
// CHECK-SAME: npu.runs = 1
// CHECK-NEXT: npu.relu ins(%middle : {{.*}} outs(%row
// CHECK-NEXT: dma.wait %[[FIRST]]
// CHECK:      scf.for %t = %{{.*}} to %{{.*}} step
// CHECK:        %[[BEFORE:.*]] = memref.subview %y
// CHECK-NEXT:   %[[LEAVES:.*]] = dma.start %row to %[[BEFORE]] channel 2
// CHECK:        npu.relu ins(%line
// CHECK:        %[[NEXT:.*]] = memref.subview %x
// CHECK-NEXT:   %[[ARRIVES:.*]] = dma.start %[[NEXT]] to %line channel 1
// CHECK-NEXT:   npu.relu ins(%ring
// CHECK-SAME:   npu.runs = 6
// CHECK-NEXT:   dma.wait %[[LEAVES]]
// CHECK-NEXT:   npu.relu ins(%middle : {{.*}} outs(%row
// CHECK-NEXT:   dma.wait %[[ARRIVES]]
// CHECK-NEXT: } {npu.double_buffered}
// CHECK:      dma.start %row
// CHECK-NEXT: npu.relu ins(%line
// CHECK-NOT:  dma.start {{.*}} to %line
// CHECK:      dma.wait
// CHECK-NEXT: npu.relu ins(%middle : {{.*}} outs(%row
// CHECK:      dma.start %row
// CHECK-NEXT: dma.wait
// CHECK-NEXT: func.return
func.func @both(%x: memref<8x16xf32, #npu.dram>, %y: memref<8x16xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %line = sram.alloc : memref<1x16xf32, #npu.sram>
  %ring = sram.alloc : memref<1x16xf32, #npu.sram>
  %middle = sram.alloc : memref<1x16xf32, #npu.sram>
  %row = sram.alloc : memref<1x16xf32, #npu.sram>
  scf.for %t = %c0 to %c8 step %c1 {
    %arrived = memref.subview %x[%t, 0] [1, 16] [1, 1] : memref<8x16xf32, #npu.dram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    %0 = dma.start %arrived to %line channel 1 : memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram> to memref<1x16xf32, #npu.sram>
    dma.wait %0
    npu.relu ins(%line : memref<1x16xf32, #npu.sram>) outs(%ring : memref<1x16xf32, #npu.sram>) {npu.runs = 8 : i64}
    npu.relu ins(%ring : memref<1x16xf32, #npu.sram>) outs(%middle : memref<1x16xf32, #npu.sram>) {npu.runs = 8 : i64}
    npu.relu ins(%middle : memref<1x16xf32, #npu.sram>) outs(%row : memref<1x16xf32, #npu.sram>) {npu.runs = 8 : i64}
    %out = memref.subview %y[%t, 0] [1, 16] [1, 1] : memref<8x16xf32, #npu.dram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    %1 = dma.start %row to %out channel 2 : memref<1x16xf32, #npu.sram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    dma.wait %1
  } {npu.overlap_rows}
  func.return
}

// -----

// Only rows that leave: the first round stands in front of the loop, no round behind it.
// CHECK-LABEL: func.func @stores
// CHECK:      npu.relu ins(%x : {{.*}}npu.runs = 1
// CHECK:      scf.for
// CHECK:        %[[LEAVES:.*]] = dma.start %row
// CHECK-NEXT:   dma.wait %[[LEAVES]]
// CHECK-NEXT:   npu.relu ins(%x : {{.*}}npu.runs = 3
// CHECK-NEXT: } {npu.double_buffered}
// CHECK:      dma.start %row
// CHECK-NEXT: dma.wait
// CHECK-NEXT: func.return
func.func @stores(%x: memref<1x16xf32, #npu.sram>, %y: memref<8x16xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %row = sram.alloc : memref<1x16xf32, #npu.sram>
  scf.for %t = %c0 to %c8 step %c2 {
    npu.relu ins(%x : memref<1x16xf32, #npu.sram>) outs(%row : memref<1x16xf32, #npu.sram>) {npu.runs = 4 : i64}
    %out = memref.subview %y[%t, 0] [1, 16] [1, 1] : memref<8x16xf32, #npu.dram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    %1 = dma.start %row to %out channel 0 : memref<1x16xf32, #npu.sram> to memref<1x16xf32, strided<[16, 1], offset: ?>, #npu.dram>
    dma.wait %1
  } {npu.overlap_rows}
  func.return
}
