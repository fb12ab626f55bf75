// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=exynos-npu},npu-tile-loops)' | filecheck %s

// A layer that runs row by row goes through its map once: the access is in front of the loops.

// CHECK-LABEL: func.func @rows
// CHECK: dma.reads %x {npu.layer = "relu"} : memref<1x2x6x5xf32, #npu.dram>
// CHECK-NEXT: dma.writes %y {npu.layer = "relu"} : memref<1x2x6x5xf32, #npu.dram>
// CHECK-NEXT: scf.for
// CHECK-NOT: dma.reads
// CHECK-NOT: dma.writes
// CHECK: dma.start %row to %row_tile
func.func @rows(%x: memref<1x2x6x5xf32, #npu.dram>, %y: memref<1x2x6x5xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %r = %c0 to %c6 step %c1 {
    %inside = arith.cmpi ult, %r, %c6 : index
    scf.if %inside {
      %row = memref.subview %x[0, 0, %r, 0] [1, 2, 1, 5] [1, 1, 1, 1] : memref<1x2x6x5xf32, #npu.dram> to memref<1x2x1x5xf32, strided<[60, 30, 5, 1], offset: ?>, #npu.dram>
      %to = memref.subview %y[0, 0, %r, 0] [1, 2, 1, 5] [1, 1, 1, 1] : memref<1x2x6x5xf32, #npu.dram> to memref<1x2x1x5xf32, strided<[60, 30, 5, 1], offset: ?>, #npu.dram>
      npu.relu ins(%row : memref<1x2x1x5xf32, strided<[60, 30, 5, 1], offset: ?>, #npu.dram>) outs(%to : memref<1x2x1x5xf32, strided<[60, 30, 5, 1], offset: ?>, #npu.dram>) {npu.layer = "relu"}
    }
  }
  func.return
}

// What is made anew in each step is gone through in each step.
// CHECK-LABEL: func.func @anew
// CHECK: scf.for
// CHECK: dma.writes %y
func.func @anew(%x: memref<1x2x6x5xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %r = %c0 to %c6 step %c1 {
    %y = dram.alloc : memref<1x2x6x5xf32, #npu.dram>
    npu.relu ins(%x : memref<1x2x6x5xf32, #npu.sram>) outs(%y : memref<1x2x6x5xf32, #npu.dram>)
  }
  func.return
}
