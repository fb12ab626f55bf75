// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-unroll-loops | filecheck %s
// RUN: npu-opt %s --split-input-file -p 'npu-unroll-loops{own-steps=3}' | filecheck %s --check-prefix=THREE

// Steps that overlap: each waits for the load that the one before has started, and all indices are known.
// CHECK-LABEL: func.func @two_ahead
// THREE-LABEL: func.func @two_ahead
// CHECK: [[T1:%.*]] = dma.start
// CHECK-NEXT: [[C0:%.*]] = arith.constant 0 : index
// CHECK-NEXT: [[C2:%.*]] = arith.constant 2 : index
// CHECK-NEXT: [[C1:%.*]] = arith.constant 1 : index
// CHECK-NEXT: [[C3:%.*]] = arith.constant 3 : index
// CHECK-NEXT: [[TO:%.*]] = memref.subview %a{{\[}}[[C2]], 0, 0]
// CHECK-NEXT: [[FROM:%.*]] = memref.subview %x{{\[}}[[C2]], 0, 0]
// CHECK-NEXT: [[T2:%.*]] = dma.start [[FROM]] to [[TO]]
// CHECK-NEXT: [[NOW:%.*]] = memref.subview %a{{\[}}[[C0]], 0, 0]
// CHECK-NEXT: npu.relu ins([[NOW]] {{.*}} {npu.layer = "act", npu.runs = 1 : i64, npu.tile = {bytes = 1 : i64}}
// CHECK-NEXT: dma.wait [[T1]]
// CHECK-NEXT: [[TO:%.*]] = memref.subview %a{{\[}}[[C0]], 0, 0]
// CHECK-NEXT: [[FROM:%.*]] = memref.subview %x{{\[}}[[C3]], 0, 0]
// CHECK-NEXT: [[T3:%.*]] = dma.start [[FROM]] to [[TO]]
// CHECK-NEXT: [[NOW:%.*]] = memref.subview %a{{\[}}[[C1]], 0, 0]
// CHECK-NEXT: npu.relu ins([[NOW]] {{.*}} {npu.layer = "act", npu.runs = 1 : i64}
// CHECK-NEXT: dma.wait [[T2]]
// CHECK-NEXT: dma.wait [[T3]]
// CHECK-NEXT: func.return
func.func @two_ahead(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %row = memref.subview %x[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
  %half = memref.subview %a[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %first = dma.start %row to %half channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %first) -> (!dma.token) {
    %next = arith.addi %i, %c2 : index
    %part = arith.remui %next, %c3 : index
    %a_next = memref.subview %a[%part, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %tile = memref.subview %x[%next, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %u = dma.start %tile to %a_next channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %now = arith.remui %i, %c3 : index
    %a_now = memref.subview %a[%now, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    npu.relu ins(%a_now : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    dma.wait %t
    scf.yield %u : !dma.token
  } {npu.double_buffered}
  dma.wait %last
  func.return
}

// -----

// Three steps are too many, unless the option says otherwise.
// CHECK-LABEL: func.func @three
// CHECK: scf.for %i
// THREE-LABEL: func.func @three
// THREE-COUNT-3: npu.relu
// THREE-NOT: npu.relu
// THREE-NOT: npu.double_buffered
func.func @three(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %row = memref.subview %x[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
  %half = memref.subview %a[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %first = dma.start %row to %half channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %first) -> (!dma.token) {
    %next = arith.addi %i, %c2 : index
    %part = arith.remui %next, %c3 : index
    %a_next = memref.subview %a[%part, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %tile = memref.subview %x[%next, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %u = dma.start %tile to %a_next channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %now = arith.remui %i, %c3 : index
    %a_now = memref.subview %a[%now, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    npu.relu ins(%a_now : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    dma.wait %t
    scf.yield %u : !dma.token
  } {npu.double_buffered}
  dma.wait %last
  func.return
}

// -----

// In another loop, no layer in front of it could run beside the loads.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for %o
// CHECK: scf.for %i
// CHECK: npu.double_buffered
// THREE-LABEL: func.func @in_a_loop
func.func @in_a_loop(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %o = %c0 to %c3 step %c1 {
    %row = memref.subview %x[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %half = memref.subview %a[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %first = dma.start %row to %half channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %first) -> (!dma.token) {
      %next = arith.addi %i, %c2 : index
      %part = arith.remui %next, %c3 : index
      %a_next = memref.subview %a[%part, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
      %tile = memref.subview %x[%next, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
      %u = dma.start %tile to %a_next channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
      %now = arith.remui %i, %c3 : index
      %a_now = memref.subview %a[%now, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
      npu.relu ins(%a_now : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
      dma.wait %t
      scf.yield %u : !dma.token
    } {npu.double_buffered}
    dma.wait %last
  }
  func.return
}

// -----

// Who knows how many steps there are.
// CHECK-LABEL: func.func @unknown
// CHECK: scf.for %i
// THREE-LABEL: func.func @unknown
// THREE: scf.for %i
func.func @unknown(%x : memref<8x4x8xf32, #npu.dram>, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %row = memref.subview %x[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
  %half = memref.subview %a[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %first = dma.start %row to %half channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %first) -> (!dma.token) {
    %next = arith.addi %i, %c2 : index
    %part = arith.remui %next, %c3 : index
    %a_next = memref.subview %a[%part, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %tile = memref.subview %x[%next, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %u = dma.start %tile to %a_next channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %now = arith.remui %i, %c3 : index
    %a_now = memref.subview %a[%now, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    npu.relu ins(%a_now : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    dma.wait %t
    scf.yield %u : !dma.token
  } {npu.double_buffered}
  dma.wait %last
  func.return
}

// -----

// The transfers of this loop do not overlap with its layer.
// CHECK-LABEL: func.func @plain
// CHECK: scf.for %i
// THREE-LABEL: func.func @plain
// THREE: scf.for %i
func.func @plain(%x : memref<8x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %a = sram.alloc : memref<3x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %row = memref.subview %x[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
  %half = memref.subview %a[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %first = dma.start %row to %half channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
  %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %first) -> (!dma.token) {
    %next = arith.addi %i, %c2 : index
    %part = arith.remui %next, %c3 : index
    %a_next = memref.subview %a[%part, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %tile = memref.subview %x[%next, 0, 0] [1, 4, 8] [1, 1, 1] : memref<8x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %u = dma.start %tile to %a_next channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    %now = arith.remui %i, %c3 : index
    %a_now = memref.subview %a[%now, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>
    npu.relu ins(%a_now : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>) {npu.layer = "act", npu.runs = 2 : i64, npu.tile = {bytes = 1 : i64}}
    dma.wait %t
    scf.yield %u : !dma.token
  }
  dma.wait %last
  func.return
}
