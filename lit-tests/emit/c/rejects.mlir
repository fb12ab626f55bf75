// RUN: npu-opt %s --split-input-file --verify-diagnostics -t c | filecheck %s

// CHECK-LABEL: c: this cannot be printed as C:
// CHECK-NEXT: func.func @f: it returns values; run npu-bufferize before, it makes them arguments
// CHECK-NEXT: func.func @f: argument 0: it is a tensor; run npu-bufferize before
// CHECK-NEXT: npu.relu in @f (layer 'r1'): run npu-bufferize and npu-lower-to-loops before
// CHECK-NEXT: test.op in @f: expected an op of arith, math, scf, memref, func, sram, dram, dma, dsp or mve
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = npu.relu %x {npu.layer = "r1"} : tensor<4xf32> -> tensor<4xf32>
  "test.op"() : () -> ()
  func.return %r : tensor<4xf32>
}

// -----
// CHECK: sram.alloc in @g: it has no offset; run npu-assign-sram-offsets before
// CHECK-NEXT: memref.alloc in @g: it has no `sram.offset`; run npu-assign-sram-offsets before
// CHECK-NEXT: arith.constant in @g: its type is bf16, expected a memref or a number
func.func @g() {
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %b = memref.alloc() : memref<4xf32, #npu.sram>
  %c = arith.constant 1.0 : bf16
  func.return
}

// -----
// CHECK: func.func @dynamic: argument 0: its shape is dynamic, expected a static one
func.func @dynamic(%x: memref<?xf32>) {
  func.return
}

// -----
// CHECK: memref.global @table: it can be written; expected `constant` and a value
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<2xf32>, initial_value = dense<0.0> : tensor<2xf32>}> : () -> ()
func.func @writable() {
  func.return
}

// -----
// CHECK: c: @writes writes the constant @table
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<2xf32>, initial_value = dense<0.0> : tensor<2xf32>, constant}> : () -> ()
func.func @writes() {
  %t = memref.get_global @table : memref<2xf32>
  %c = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  memref.store %z, %t[%c] : memref<2xf32>
  func.return
}

// -----
// CHECK: c: expected one public function in the module, found @one, @two
func.func @one() {
  func.return
}
func.func @two() {
  func.return
}

// -----
// CHECK: c: argument 0 of @unplaced has no `sram.offset`; run npu-assign-sram-offsets before
func.func @unplaced(%x: memref<4xf32, #npu.sram> {sram.input}) attributes {sram.arena = 16 : i64} {
  func.return
}

// -----
// CHECK: c: these buffers cannot be used:
// CHECK-NEXT: argument 0 of @misplaced: bytes 8 to 24 do not lie in an arena of 16
// CHECK-NEXT: sram.alloc in @misplaced: offset 2 is no multiple of 4, the size of float
func.func @misplaced(%x: memref<4xf32, #npu.sram> {sram.input, sram.offset = 8 : i64}) attributes {sram.arena = 16 : i64} {
  %a = sram.alloc at 2 : memref<1xf32, #npu.sram>
  "memref.copy"(%x, %x) : (memref<4xf32, #npu.sram>, memref<4xf32, #npu.sram>) -> ()
  %c = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  memref.store %z, %a[%c] : memref<1xf32, #npu.sram>
  func.return
}

// -----
// CHECK: c: function @again calls itself, expected no recursion
func.func private @again() {
  func.call @again() : () -> ()
  func.return
}
func.func @recursive() {
  func.call @again() : () -> ()
  func.return
}

// -----
// CHECK: c: this cannot be printed as C:
// CHECK-NEXT: scf.for in @carried: it gives a buffer, expected numbers
// CHECK-NEXT: scf.if in @carried: it gives a buffer, expected numbers
// CHECK-NEXT: arith.select in @carried: it gives a buffer, expected numbers
func.func @carried(%x: memref<4xf32>, %y: memref<4xf32>, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> (memref<4xf32>) {
    scf.yield %a : memref<4xf32>
  }
  %s = scf.if %b -> (memref<4xf32>) {
    scf.yield %r : memref<4xf32>
  } else {
    scf.yield %y : memref<4xf32>
  }
  %t = arith.select %b, %s, %y : memref<4xf32>
  func.return
}

// -----
// CHECK: memref.load in @direct: only transfers reach #npu.dram; run npu-tile-loops before
// CHECK-NEXT: dram.alloc in @direct: it has no offset; run npu-assign-dram-offsets before
// CHECK-NEXT: dma.start in @direct: it moves no elements
func.func @direct(%x: memref<4xf32, #npu.dram>, %none: memref<0xf32, #npu.dram>, %here: memref<0xf32, #npu.sram>) {
  %c = arith.constant 0 : index
  %v = memref.load %x[%c] : memref<4xf32, #npu.dram>
  %a = dram.alloc : memref<4xf32, #npu.dram>
  %t = dma.start %none to %here channel 0 : memref<0xf32, #npu.dram> to memref<0xf32, #npu.sram>
  dma.wait %t
  func.return
}

// -----
// CHECK: dma.start in @axes: it moves runs along 7 axes, expected at most 6
func.func @axes(%x: memref<2x2x2x2x2x2x2xf32, strided<[128, 64, 32, 16, 8, 4, 2]>, #npu.dram>, %y: memref<2x2x2x2x2x2x2xf32, strided<[384, 160, 66, 27, 11, 4, 1]>, #npu.sram>) {
  %t = dma.start %x to %y channel 0 : memref<2x2x2x2x2x2x2xf32, strided<[128, 64, 32, 16, 8, 4, 2]>, #npu.dram> to memref<2x2x2x2x2x2x2xf32, strided<[384, 160, 66, 27, 11, 4, 1]>, #npu.sram>
  dma.wait %t
  func.return
}

// -----
// CHECK: scf.if in @chosen: it hands a transfer on; expected a dma.wait where its dma.start is visible
func.func @chosen(%x: memref<4xf32, #npu.dram>, %y: memref<4xf32, #npu.sram>, %b: i1) {
  %t = dma.start %x to %y channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  %s = dma.start %x to %y channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  %r = scf.if %b -> (!dma.token) {
    scf.yield %t : !dma.token
  } else {
    scf.yield %s : !dma.token
  }
  dma.wait %r
  func.return
}

// -----
// CHECK: c: @unplanned has buffers off the chip but no `dram.bytes`; run npu-assign-dram-offsets before
func.func @unplanned(%x: memref<4xf32, #npu.sram>) {
  %a = dram.alloc at 0 : memref<4xf32, #npu.dram>
  %t = dma.start %x to %a channel 0 : memref<4xf32, #npu.sram> to memref<4xf32, #npu.dram>
  dma.wait %t
  func.return
}

// -----
// CHECK: dram.alloc in @outside: bytes 16 to 32 do not lie in off-chip memory of 24
func.func @outside(%x: memref<4xf32, #npu.sram>) attributes {dram.bytes = 24 : i64} {
  %a = dram.alloc at 16 : memref<4xf32, #npu.dram>
  %t = dma.start %x to %a channel 0 : memref<4xf32, #npu.sram> to memref<4xf32, #npu.dram>
  dma.wait %t
  func.return
}

// -----
// CHECK: dma.start in @channel: expected a channel below 2, got 2
builtin.module attributes {npu.target = #npu.target<"two", {sram_bytes = 64 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64}>} {
  func.func @channel(%x: memref<4xf32, #npu.dram>, %y: memref<4xf32, #npu.sram>) {
    %t = dma.start %x to %y channel 2 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
    dma.wait %t
    func.return
  }
}

// -----
// CHECK: arith.bitcast in @bits: expected an i32 whose bits become an f32
func.func @bits(%x: memref<4xf32, #npu.sram>, %y: memref<4xi32, #npu.sram>) {
  %i = arith.constant 0 : index
  %f = memref.load %x[%i] : memref<4xf32, #npu.sram>
  %n = arith.bitcast %f : f32 to i32
  memref.store %n, %y[%i] : memref<4xi32, #npu.sram>
  func.return
}
