// RUN: npu-opt %s --split-input-file -p 'npu-unroll-loops{own-steps=0}' | filecheck %s
// RUN: npu-opt %s --split-input-file -p 'npu-unroll-loops{steps=3 own-steps=0}' | filecheck %s --check-prefix=THREE

// The pass rejects nothing: other loops stay as they are (left_alone.mlir).

// The steps stand one after the other; `npu.runs` of a layer counts for each copy, `npu.tile` stays on the first one.
// CHECK-LABEL: func.func @steps
// CHECK: %b = sram.alloc
// CHECK-NEXT: [[NULL:%.*]] = arith.constant 0 : index
// CHECK-NEXT: [[TWO:%.*]] = arith.constant 2 : index
// CHECK-NEXT: sram.alloc : memref<2x4x8xf32, #npu.sram>
// CHECK-NEXT: memref.subview %x{{\[}}[[NULL]], 0, 0]
// CHECK-NEXT: scf.for %i
// CHECK-NEXT: npu.relu {{.*}} {npu.layer = "act", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
// CHECK-NEXT: } {npu.double_buffered}
// CHECK-NEXT: [[T:%.*]] = dma.start
// CHECK-NEXT: dma.wait [[T]]
// CHECK-NEXT: sram.alloc
// CHECK-NEXT: memref.subview %x{{\[}}[[TWO]], 0, 0]
// CHECK-NEXT: scf.for %i
// CHECK-NEXT: npu.relu {{.*}} {npu.layer = "act", npu.runs = 2 : i64}
// CHECK-NEXT: } {npu.double_buffered}
// CHECK-NEXT: [[T:%.*]] = dma.start
// CHECK-NEXT: dma.wait [[T]]
// CHECK-NEXT: func.return
func.func @steps(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %o = %c0 to %c4 step %c2 {
    %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
    %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    scf.for %i = %c0 to %c2 step %c1 {
      npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
    } {npu.double_buffered}
    %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
  }
  func.return
}

// -----

// Three steps are too many, unless the option says otherwise.
// CHECK-LABEL: func.func @three
// CHECK: scf.for %o
// THREE-LABEL: func.func @three
// THREE-NOT: scf.for %o
// THREE-COUNT-3: npu.double_buffered
// THREE-NOT: npu.double_buffered
func.func @three(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %o = %c0 to %c5 step %c2 {
    %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
    %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    scf.for %i = %c0 to %c2 step %c1 {
      npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
    } {npu.double_buffered}
    %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
  }
  func.return
}

// -----

// Inner loops first: then the outer one is around loops whose steps overlap, too.
// CHECK-LABEL: func.func @nest
// THREE-LABEL: func.func @nest
// CHECK-NOT: scf.for %p
// CHECK-COUNT-4: npu.double_buffered
// CHECK-NOT: npu.double_buffered
func.func @nest(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %p = %c0 to %c2 step %c1 {
    scf.for %o = %c0 to %c4 step %c2 {
      %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
      %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
      scf.for %i = %c0 to %c2 step %c1 {
        npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
      } {npu.double_buffered}
      %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
      dma.wait %t
    }
  }
  func.return
}

// -----

// What the loop carries goes from step to step: 0 + 0, and then 0 + 2, of which nothing is left to compute.
// CHECK-LABEL: func.func @carried
// THREE-LABEL: func.func @carried
// CHECK: [[TWO:%.*]] = arith.constant 2 : index
// CHECK-NOT: scf.for %o
// CHECK-COUNT-2: npu.double_buffered
// CHECK-NOT: arith.addi
// CHECK: func.return [[TWO]]
func.func @carried(%x : memref<8x4x8xf32, #npu.dram>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %last = scf.for %o = %c0 to %c4 step %c2 iter_args(%n = %c0) -> (index) {
    %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
    %first = memref.subview %x[%o, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    scf.for %i = %c0 to %c2 step %c1 {
      npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 4 : i64, npu.tile = {bytes = 1 : i64}}
    } {npu.double_buffered}
    %t = dma.start %first to %b channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    %m = arith.addi %n, %o : index
    scf.yield %m : index
  }
  func.return %last : index
}
