// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-double-buffer | filecheck %s

// It rejects nothing: a loop that it cannot take apart stays, and says why (left_alone.mlir).

// Loads one step ahead, stores one step behind: the first step and the last stand beside the loop.
// CHECK-LABEL: func.func @loads_and_stores
// CHECK: %a = sram.alloc : memref<2x4x8x16xf32, #npu.sram>
// CHECK-NEXT: %b = sram.alloc : memref<2x4x8x16xf32, #npu.sram>
// CHECK: [[A0:%.*]] = memref.subview %a[0, 0, 0, 0] [1, 4, 8, 16]
// CHECK: [[T:%.*]] = dma.start %{{.*}} to [[A0]] channel 1
// CHECK-NEXT: dma.wait [[T]]
// CHECK: [[T:%.*]] = dma.start %{{.*}} channel 1
// CHECK-NOT: channel 3
// CHECK: npu.relu {{.*}}npu.runs = 1
// CHECK-NEXT: dma.wait [[T]]
// CHECK: scf.for %i = %c1{{.*}} to %c3{{.*}} step
// CHECK: [[NEXT:%.*]] = arith.addi %i
// CHECK: [[HALF:%.*]] = arith.remui [[NEXT]]
// CHECK: [[A:%.*]] = memref.subview %a{{\[}}[[HALF]], 0, 0, 0] [1, 4, 8, 16]
// CHECK: [[LOAD:%.*]] = dma.start %{{.*}} to [[A]] channel 1
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK: [[HALF:%.*]] = arith.remui %i
// CHECK: npu.relu {{.*}}npu.runs = 2
// CHECK-NEXT: dma.wait [[LOAD]]
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK-NEXT: } {npu.double_buffered}
// CHECK-NOT: channel 1
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK: npu.relu {{.*}}npu.runs = 1
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK-NEXT: func.return
func.func @loads_and_stores(%x : memref<1x4x32x16xf32, #npu.dram>, %y : memref<1x4x32x16xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %a = sram.alloc : memref<1x4x8x16xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8x16xf32, #npu.sram>
  scf.for %i = %c0 to %c4 step %c1 {
    %r = arith.muli %i, %c8 : index
    %in = memref.subview %x[0, 0, %r, 0] [1, 4, 8, 16] [1, 1, 1, 1] : memref<1x4x32x16xf32, #npu.dram> to memref<1x4x8x16xf32, strided<[2048, 512, 16, 1], offset: ?>, #npu.dram>
    %t = dma.start %in to %a channel 1 : memref<1x4x8x16xf32, strided<[2048, 512, 16, 1], offset: ?>, #npu.dram> to memref<1x4x8x16xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8x16xf32, #npu.sram>) outs(%b : memref<1x4x8x16xf32, #npu.sram>) {npu.runs = 4 : i64}
    %out = memref.subview %y[0, 0, %r, 0] [1, 4, 8, 16] [1, 1, 1, 1] : memref<1x4x32x16xf32, #npu.dram> to memref<1x4x8x16xf32, strided<[2048, 512, 16, 1], offset: ?>, #npu.dram>
    %s = dma.start %b to %out channel 3 : memref<1x4x8x16xf32, #npu.sram> to memref<1x4x8x16xf32, strided<[2048, 512, 16, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer}
  func.return
}

// -----

// Groups of kernels: 2 * 16 of them on chip, the map stays where it is.
// CHECK-LABEL: func.func @kernels
// CHECK: %k = sram.alloc : memref<32x4x1x1xf32, #npu.sram>
// CHECK: dma.start weights
// CHECK: scf.for %i = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK: [[STEP:%.*]] = arith.divui
// CHECK: [[ODD:%.*]] = arith.remui [[STEP]]
// CHECK: [[FIRST:%.*]] = arith.muli [[ODD]], %c16
// CHECK: memref.subview %k{{\[}}[[FIRST]], 0, 0, 0] [16, 4, 1, 1]
// CHECK: npu.conv2d
// CHECK: npu.double_buffered
// CHECK: npu.conv2d
// CHECK-NOT: npu.conv2d
// CHECK: func.return
func.func @kernels(%w : memref<48x4x1x1xf32, #npu.dram>, %x : memref<1x4x8x8xf32, #npu.sram>, %y : memref<1x48x8x8xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  %k = sram.alloc : memref<16x4x1x1xf32, #npu.sram>
  scf.for %i = %c0 to %c48 step %c16 {
    %group = memref.subview %w[%i, 0, 0, 0] [16, 4, 1, 1] [1, 1, 1, 1] : memref<48x4x1x1xf32, #npu.dram> to memref<16x4x1x1xf32, strided<[4, 1, 1, 1], offset: ?>, #npu.dram>
    %t = dma.start weights %group to %k channel 0 : memref<16x4x1x1xf32, strided<[4, 1, 1, 1], offset: ?>, #npu.dram> to memref<16x4x1x1xf32, #npu.sram>
    dma.wait %t
    %part = memref.subview %y[0, %i, 0, 0] [1, 16, 8, 8] [1, 1, 1, 1] : memref<1x48x8x8xf32, #npu.sram> to memref<1x16x8x8xf32, strided<[3072, 64, 8, 1], offset: ?>, #npu.sram>
    npu.conv2d ins(%x, %k : memref<1x4x8x8xf32, #npu.sram>, memref<16x4x1x1xf32, #npu.sram>) outs(%part : memref<1x16x8x8xf32, strided<[3072, 64, 8, 1], offset: ?>, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// Sums that are loaded and stored: the store is done in its step, the load for the next one runs beside.
// CHECK-LABEL: func.func @sums
// CHECK: %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
// CHECK: scf.for
// CHECK: [[LOAD:%.*]] = dma.start %{{.*}} channel 2
// CHECK: npu.relu
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK-NEXT: dma.wait [[LOAD]]
// CHECK: npu.double_buffered
func.func @sums(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 2 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %s = dma.start %a to %part channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer}
  func.return
}

// -----

// With room for three parts, the next step loads one, this step computes in one, the last step's sums leave the third.
// CHECK-LABEL: func.func @late_sums
// CHECK: %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
// CHECK: [[A0:%.*]] = memref.subview %a[0, 0, 0] [1, 4, 8]
// CHECK: dma.start %{{.*}} to [[A0]]{{.*}} channel 2
// CHECK: npu.relu
// CHECK: scf.for %i = %c1{{.*}} to %c4
// CHECK: [[NEXT:%.*]] = arith.addi %i
// CHECK: [[PART:%part.*]] = arith.remui [[NEXT]], %c3
// CHECK: [[A:%.*]] = memref.subview %a{{\[}}[[PART]], 0, 0] [1, 4, 8]
// CHECK: [[LOAD:%.*]] = dma.start %{{.*}} to [[A]] channel 2
// CHECK: [[LAST:%.*]] = arith.subi %i
// CHECK: [[PART:%part.*]] = arith.remui [[LAST]], %c3
// CHECK: [[A:%.*]] = memref.subview %a{{\[}}[[PART]], 0, 0] [1, 4, 8]
// CHECK: [[STORE:%.*]] = dma.start [[A]] to %{{.*}} channel 3
// CHECK: [[PART:%part.*]] = arith.remui %i, %c3
// CHECK: [[A:%.*]] = memref.subview %a{{\[}}[[PART]], 0, 0] [1, 4, 8]
// CHECK: npu.relu ins([[A]]
// CHECK-NEXT: dma.wait [[LOAD]]
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK-NEXT: } {npu.double_buffered}
func.func @late_sums(%y : memref<5x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c5 step %c1 {
    %rows = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<5x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %rows to %a channel 2 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %s = dma.start %a to %rows channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer, npu.late_sums}
  func.return
}

// -----

// The step reads what it has stored: the store is done in its step, as without room for three parts.
// CHECK-LABEL: func.func @not_late
// CHECK: %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
// CHECK: scf.for
// CHECK: [[LOAD:%.*]] = dma.start %{{.*}} channel 2
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK-NEXT: test.op
// CHECK-NEXT: dma.wait [[LOAD]]
// CHECK-NEXT: } {npu.double_buffered}
func.func @not_late(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 2 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %s = dma.start %a to %part channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
    "test.op"(%a) : (memref<1x4x8xf32, #npu.sram>) -> ()
  } {npu.double_buffer, npu.late_sums}
  func.return
}

// -----

// Two loops share a buffer, and neither wants what the other leaves in it: each gets halves of its own.
// CHECK-LABEL: func.func @siblings
// CHECK-NOT: memref<1x4x8xf32, #npu.sram>
// CHECK: %a = sram.alloc : memref<2x4x8xf32, #npu.sram>
// CHECK: npu.double_buffered
// CHECK: %a_{{.*}} = sram.alloc : memref<2x4x8xf32, #npu.sram>
// CHECK: npu.double_buffered
func.func @siblings(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    "test.op"(%a) : (memref<1x4x8xf32, #npu.sram>) -> ()
  } {npu.double_buffer}
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    "test.op"(%a) : (memref<1x4x8xf32, #npu.sram>) -> ()
  } {npu.double_buffer}
  func.return
}

// -----

// With room for three parts, loads start two steps ahead. The loop carries the token of the load for the next step, and
// starts the store, for which it waits, in front of the load, for which it does not.
// CHECK-LABEL: func.func @two_ahead
// CHECK: %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
// CHECK: %b = sram.alloc : memref<2x4x8xf32, #npu.sram>
// CHECK: [[T0:%.*]] = dma.start %{{.*}} channel 1
// CHECK: [[T1:%.*]] = dma.start %{{.*}} channel 1
// CHECK-NEXT: dma.wait [[T0]]
// CHECK: [[T2:%.*]] = dma.start %{{.*}} channel 1
// CHECK: npu.relu
// CHECK-NEXT: dma.wait [[T1]]
// CHECK: [[LAST:%.*]] = scf.for %i = %c1{{.*}} to %c4{{.*}} iter_args([[T:%.*]] = [[T2]]) -> (!dma.token)
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK: [[LATER:%.*]] = arith.addi %i, %c2
// CHECK: arith.remui [[LATER]], %c3
// CHECK: [[NEXT:%.*]] = dma.start %{{.*}} channel 1
// CHECK: npu.relu
// CHECK-NEXT: dma.wait [[T]]
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK-NEXT: scf.yield [[NEXT]] : !dma.token
// CHECK-NEXT: } {npu.double_buffered}
// CHECK-NOT: channel 1
// CHECK: [[STORE:%.*]] = dma.start %{{.*}} channel 3
// CHECK: npu.relu
// CHECK-NEXT: dma.wait [[LAST]]
// CHECK-NEXT: dma.wait [[STORE]]
// CHECK: npu.relu
func.func @two_ahead(%x : memref<6x4x8xf32, #npu.dram>, %y : memref<6x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c6 step %c1 {
    %in = memref.subview %x[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<6x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %in to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>)
    %out = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<6x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %s = dma.start %b to %out channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer, npu.two_ahead}
  func.return
}

// -----

// A load three steps later reads what this step stores, which may not be done by then: loads stay one step ahead.
// CHECK-LABEL: func.func @too_far
// CHECK: %a = sram.alloc : memref<2x1x8xf32, #npu.sram>
// CHECK-NOT: iter_args
// CHECK: {npu.double_buffered}
func.func @too_far(%y : memref<9x1x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %a = sram.alloc : memref<1x1x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x1x8xf32, #npu.sram>
  scf.for %i = %c0 to %c6 step %c1 {
    %in = memref.subview %y[%i, 0, 0] [1, 1, 8] [1, 1, 1] : memref<9x1x8xf32, #npu.dram> to memref<1x1x8xf32, strided<[8, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %in to %a channel 1 : memref<1x1x8xf32, strided<[8, 8, 1], offset: ?>, #npu.dram> to memref<1x1x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x1x8xf32, #npu.sram>) outs(%b : memref<1x1x8xf32, #npu.sram>)
    %later = arith.addi %i, %c3 : index
    %out = memref.subview %y[%later, 0, 0] [1, 1, 8] [1, 1, 1] : memref<9x1x8xf32, #npu.dram> to memref<1x1x8xf32, strided<[8, 8, 1], offset: ?>, #npu.dram>
    %s = dma.start %b to %out channel 3 : memref<1x1x8xf32, #npu.sram> to memref<1x1x8xf32, strided<[8, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer, npu.two_ahead}
  func.return
}
