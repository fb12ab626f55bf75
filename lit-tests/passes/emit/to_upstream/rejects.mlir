// RUN: npu-opt %s --split-input-file --verify-diagnostics -p npu-to-upstream | filecheck %s

// CHECK-LABEL: npu-to-upstream: upstream cannot say this:
// CHECK-NEXT: npu.relu in @layers (layer 'r1'): run npu-bufferize, npu-outline-layers and npu-lower-to-loops before
// CHECK-NEXT: sram.alloc in @layers: it has no offset; run npu-assign-sram-offsets before
// CHECK-NEXT: dram.alloc in @layers: it has no offset; run npu-assign-dram-offsets before
// CHECK-NEXT: memref.alloc in @layers: it has no `sram.offset`; run npu-assign-sram-offsets before
// CHECK-NEXT: test.op in @layers: it needs !dma.token; expected no attribute or type of ours but memory spaces
func.func @layers(%x: memref<4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>) {npu.layer = "r1"}
  %a = sram.alloc : memref<4xf32, #npu.sram>
  %b = dram.alloc : memref<4xf32, #npu.dram>
  %c = memref.alloc() : memref<4xf32, #npu.sram>
  %d = "test.op"() : () -> !dma.token
  func.return
}

// -----
// CHECK: func.func in @ports: argument 0 has no `sram.offset`; run npu-assign-sram-offsets before
func.func @ports(%x: memref<4xf32, #npu.sram> {sram.input}) {
  func.return
}

// -----
// CHECK: pl330.program: run npu-to-upstream in place of npu-lower-dma-to-pl330
pl330.program @p channel 0 {
  pl330.end
}

// -----
// CHECK: dsp.keep_order: expected it in a func.func of the module
builtin.module {
  builtin.module @inner {
    func.func @nested() {
      dsp.keep_order
      func.return
    }
  }
}

// -----
// CHECK: dma.wait in @carried: its token comes from elsewhere; expected a dma.start that is visible here
func.func @carried(%t: !dma.token) {
  dma.wait %t
  func.return
}

// -----
// CHECK: dma.start in @handed: its token goes elsewhere; expected a dma.wait where its dma.start is visible
func.func @handed(%x: memref<4xf32, #npu.dram>, %y: memref<4xf32, #npu.sram>) {
  %t = dma.start %x to %y channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  "test.op"(%t) : (!dma.token) -> ()
  func.return
}

// -----
// CHECK: memref.copy in @rows: its buffers share bytes; expected that of buffers without gaps only
func.func @rows() attributes {sram.arena = 64 : i64} {
  %a = sram.alloc at 0 : memref<2x4xf32, strided<[1, 2]>, #npu.sram>
  %b = sram.alloc at 8 : memref<2x4xf32, #npu.sram>
  "memref.copy"(%a, %b) : (memref<2x4xf32, strided<[1, 2]>, #npu.sram>, memref<2x4xf32, #npu.sram>) -> ()
  func.return
}

// -----
// CHECK: npu-to-upstream: bytes 60 to 75 are no place for memref<4xf32, #npu.sram> in arena of 64 bytes; expected an aligned place inside
func.func @outside() attributes {sram.arena = 64 : i64} {
  %a = sram.alloc at 60 : memref<4xf32, #npu.sram>
  func.return
}

// -----
// CHECK: npu-to-upstream: bytes 2 to 17 are no place for memref<4xf32, #npu.sram> in arena of 64 bytes; expected an aligned place inside
func.func @misaligned() attributes {sram.arena = 64 : i64} {
  %a = sram.alloc at 2 : memref<4xf32, #npu.sram>
  func.return
}

// -----
// CHECK: npu-to-upstream: a buffer has an offset, but no function has `sram.arena`; run npu-assign-sram-offsets
func.func @unsized() {
  %a = sram.alloc at 0 : memref<4xf32, #npu.sram>
  func.return
}

// -----
// CHECK: npu-to-upstream: expected one memory space in the arena, got #npu.sram, "L1"
func.func @spaces() attributes {sram.arena = 64 : i64} {
  %a = sram.alloc at 0 : memref<4xf32, #npu.sram>
  %b = memref.alloc() {sram.offset = 0 : i64} : memref<4xf32, "L1">
  func.return
}

// -----
// CHECK: npu-to-upstream: func.call: operand 0 is memref<8xi8, strided<[1], offset: 4>>, which cannot become memref<8xi8>; expected `offset: ?` in the latter
func.func @span(%x: memref<3x4xi8, #npu.sram>) {
  %r = memref.subview %x[1, 0] [2, 4] [1, 1] : memref<3x4xi8, #npu.sram> to memref<2x4xi8, strided<[4, 1], offset: 4>, #npu.sram>
  %s = sram.span %r : memref<2x4xi8, strided<[4, 1], offset: 4>, #npu.sram> to memref<8xi8, #npu.sram>
  func.call @user(%s) : (memref<8xi8, #npu.sram>) -> ()
  func.return
}
func.func private @user(%a: memref<8xi8, #npu.sram>) {
  func.return
}

// -----
// CHECK: npu-to-upstream: memref.cast: operand 0 is memref<8xi8, strided<[1], offset: 4>>, which cannot become memref<?xi8>; expected `offset: ?` in the latter
func.func @cast(%x: memref<3x4xi8, #npu.sram>) {
  %r = memref.subview %x[1, 0] [2, 4] [1, 1] : memref<3x4xi8, #npu.sram> to memref<2x4xi8, strided<[4, 1], offset: 4>, #npu.sram>
  %s = sram.span %r : memref<2x4xi8, strided<[4, 1], offset: 4>, #npu.sram> to memref<8xi8, #npu.sram>
  %t = "memref.cast"(%s) : (memref<8xi8, #npu.sram>) -> memref<?xi8, #npu.sram>
  func.return
}

// -----
// CHECK: npu-to-upstream: memref.reinterpret_cast: expected static numbers for a part of a sram.span
func.func @part(%x: memref<3x4xi8, #npu.sram>, %i: index) {
  %s = sram.span %x : memref<3x4xi8, #npu.sram> to memref<12xi8, #npu.sram>
  %t = memref.reinterpret_cast %s to offset: [%i], sizes: [4], strides: [1] : memref<12xi8, #npu.sram> to memref<4xi8, strided<[1], offset: ?>, #npu.sram>
  func.return
}

// -----
// CHECK: npu-to-upstream: @net_reset is the name of the function that sets states to zero
func.func @net(%s: memref<4xf32, #npu.sram> {npu.state = "s", sram.input, sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 16 : i64} {
  func.return
}
func.func private @net_reset() {
  func.return
}

// -----
// CHECK: npu-to-upstream: @npu_transfer_wait is the name of a function for transfers: expected (i32) -> ()
func.func @taken(%x: memref<4xf32, #npu.dram>, %y: memref<4xf32, #npu.sram>) {
  %t = dma.start %x to %y channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  dma.wait %t
  func.return
}
func.func private @npu_transfer_wait(%a: i32) {
  func.return
}

// -----
// CHECK: memref.global: xDSL prints more than 100 i1 as a byte each, upstream reads bits; expected i8
"memref.global"() <{sym_name = "short", type = memref<3xi1>, initial_value = dense<[true, false, true]> : tensor<3xi1>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "long", type = memref<120xi1>, initial_value = dense<"0xFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFFFF00FFFF"> : tensor<120xi1>, sym_visibility = "private", constant}> : () -> ()

// -----
// Both spaces would be the default one.
// CHECK: memref.dma_start moves between two memory spaces; expected sram-space and dram-space to differ
func.func @engine(%x: memref<4xf32, #npu.dram>, %i: index, %tag: memref<1xi32>) {
  %a = memref.alloc() {sram.offset = 0 : i64} : memref<4xf32, #npu.sram>
  "memref.dma_start"(%x, %i, %a, %i, %i, %tag, %i) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<4xf32, #npu.dram>, index, memref<4xf32, #npu.sram>, index, index, memref<1xi32>, index) -> ()
  func.return
}

// -----

// Upstream gets one arena.
// CHECK: npu-to-upstream: expected buffers in one memory: leave out npu-assign-memories before
func.func @memories(%x: memref<4xf32, #npu.memory<"fast">> {sram.input, sram.offset = 0 : i64})
    attributes {sram.arenas = {fast = 16 : i64}} {
  func.return
}
