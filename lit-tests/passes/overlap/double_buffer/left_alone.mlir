// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-double-buffer | filecheck %s

// Somebody wants what the last step leaves behind.
// CHECK-LABEL: func.func @used_after
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%a is used outside of the loop"}
func.func @used_after(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %s = dma.start %a to %part channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer}
  "test.op"(%a) : (memref<1x4x8xf32, #npu.sram>) -> ()
  func.return
}

// -----

// The same tile is stored in every step.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%a is not written anew in every step"}
func.func @kept(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %s = dma.start %a to %part channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer}
  func.return
}

// -----

// Who knows whether there is a step.
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "its bounds are not known"}
func.func @dynamic(%y : memref<3x4x8xf32, #npu.dram>, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %n step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// Values from step to step could depend on anything.
// CHECK-LABEL: func.func @carries
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "it carries values"}
func.func @carries(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%k = %c0) -> (index) {
    %i2 = arith.addi %k, %c1 : index
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    scf.yield %i2 : index
  } {npu.double_buffer}
  func.return
}

// -----

// The address is computed in the step.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "an address depends on memref.load"}
func.func @computed(%y : memref<3x4x8xf32, #npu.dram>, %table : memref<3xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %n = memref.load %table[%i] : memref<3xindex>
    %part = memref.subview %y[%n, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// What step i stores is what step i + 1 loads.
// CHECK-LABEL: func.func @feedback
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "a load may read what a step before it stores"}
func.func @feedback(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c2 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %next = arith.addi %i, %c1 : index
    %p2 = memref.subview %y[%next, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %s = dma.start %a to %p2 channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer}
  func.return
}

// -----

// Nothing to overlap.
// CHECK-LABEL: func.func @once
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "it has 1 step"}
func.func @once(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c1 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// Nothing moves.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "it has no transfers of its own"}
func.func @nothing(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
  } {npu.double_buffer}
  func.return
}

// -----

// The load overwrites what the step has computed.
// CHECK-LABEL: func.func @early_use
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%a is used before it is loaded"}
func.func @early_use(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>)
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// A late store would see another tile.
// CHECK-LABEL: func.func @late_use
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%a is used after it is stored"}
func.func @late_use(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %s = dma.start %a to %part channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%b : memref<1x4x8xf32, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// The token is not used.
// CHECK-LABEL: func.func @not_waited
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "a transfer is not waited for in its step"}
func.func @not_waited(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
  } {npu.double_buffer}
  func.return
}

// -----

// A buffer of the caller cannot be doubled.
// CHECK-LABEL: func.func @argument
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%tile is no part of an sram.alloc"}
func.func @argument(%y : memref<3x4x8xf32, #npu.dram>, %tile : memref<1x4x8xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %tile channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
  } {npu.double_buffer}
  func.return
}

// -----

// Too late.
// CHECK-LABEL: func.func @placed
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%a has an offset already"}
func.func @placed(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc at 128 : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
  } {npu.double_buffer}
  func.return
}

// -----

// A half begins elsewhere than such a view can say.
// CHECK-LABEL: func.func @reshaped
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "%a is seen through memref.collapse_shape"}
func.func @reshaped(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    %f = memref.collapse_shape %a [[0], [1, 2]] : memref<1x4x8xf32, #npu.sram> into memref<1x32xf32, #npu.sram>
    "test.op"(%f) : (memref<1x32xf32, #npu.sram>) -> ()
  } {npu.double_buffer}
  func.return
}

// -----

// The store would come after this use of the map.
// CHECK-LABEL: func.func @shared_map
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "something else uses the map that it stores"}
func.func @shared_map(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %b = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    npu.relu ins(%b : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %s = dma.start %a to %part channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    dma.wait %s
    dma.reads %y : memref<3x4x8xf32, #npu.dram>
    "test.op"(%y) : (memref<3x4x8xf32, #npu.dram>) -> ()
  } {npu.double_buffer}
  func.return
}

// -----

// Which map is it? It may be the one that is loaded.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: npu.double_buffer}
// CHECK: {npu.not_double_buffered = "nobody knows which map one of its ops uses"}
func.func @unknown(%y : memref<3x4x8xf32, #npu.dram>, %z : memref<3x4x8xf32, #npu.dram>, %p : i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  %m = arith.select %p, %y, %z : memref<3x4x8xf32, #npu.dram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
    %out = memref.subview %m[0, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1]>, #npu.dram>
    %s = dma.start %a to %out channel 3 : memref<1x4x8xf32, #npu.sram> to memref<1x4x8xf32, strided<[32, 8, 1]>, #npu.dram>
    dma.wait %s
  } {npu.double_buffer}
  func.return
}

// -----

// Only loops that ask for it.
// CHECK-LABEL: func.func @not_asked
// CHECK-NOT: double_buffered
// CHECK: func.return
func.func @not_asked(%y : memref<3x4x8xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4x8xf32, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0, 0] [1, 4, 8] [1, 1, 1] : memref<3x4x8xf32, #npu.dram> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>, #npu.dram> to memref<1x4x8xf32, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4x8xf32, #npu.sram>) outs(%a : memref<1x4x8xf32, #npu.sram>)
  }
  func.return
}

// -----

// The last element of a slice is the first one of the next slice.
// CHECK-LABEL: func.func @interleaved
// CHECK: {npu.not_double_buffered = "the slices of %a interleave"}
func.func @interleaved(%y : memref<3x4xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = sram.alloc : memref<1x4xf32, strided<[3, 1]>, #npu.sram>
  scf.for %i = %c0 to %c3 step %c1 {
    %part = memref.subview %y[%i, 0] [1, 4] [1, 1] : memref<3x4xf32, #npu.dram> to memref<1x4xf32, strided<[4, 1], offset: ?>, #npu.dram>
    %t = dma.start %part to %a channel 1 : memref<1x4xf32, strided<[4, 1], offset: ?>, #npu.dram> to memref<1x4xf32, strided<[3, 1]>, #npu.sram>
    dma.wait %t
    npu.relu ins(%a : memref<1x4xf32, strided<[3, 1]>, #npu.sram>) outs(%a : memref<1x4xf32, strided<[3, 1]>, #npu.sram>)
  } {npu.double_buffer}
  func.return
}
