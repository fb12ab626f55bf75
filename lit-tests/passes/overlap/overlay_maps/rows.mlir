// RUN: npu-opt %s -p npu-overlay-maps --allow-unregistered-dialect --split-input-file | filecheck %s

// Row r of buffer 0 ends at byte 16 * r + 16. The layer that writes it reads buffer 1 from byte
// 32 * r on, maybe after it has written: the first row decides.
// CHECK-LABEL: func.func @pool
// CHECK:       } {npu.overlays = array<i64: 1, 0, 16, -1>}
func.func @pool(%x : memref<1x1x8x16xi8, #npu.sram> {sram.input}) {
  %y = sram.alloc : memref<1x1x4x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %first = arith.muli %r, %c2 : index
    %rows = memref.subview %x[0, 0, %first, 0] [1, 1, 2, 16] [1, 1, 1, 1] : memref<1x1x8x16xi8, #npu.sram> to memref<1x1x2x16xi8, strided<[128, 128, 16, 1], offset: ?>, #npu.sram>
    npu.max_pool2d ins(%rows : memref<1x1x2x16xi8, strided<[128, 128, 16, 1], offset: ?>, #npu.sram>) outs(%row : memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) kernel [2, 1] strides [2, 1] pads [0, 0, 0, 0] dilations [1, 1]
  }
  "use"(%y) : (memref<1x1x4x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// Each row is copied to a window, two rows before the output is written: the window may follow 16
// bytes behind the input, and the output may even start 16 bytes behind the start of the input.
// CHECK-LABEL: func.func @window
// CHECK:       } {npu.overlays = array<i64: 1, 0, -16, -1, 1, 2, 16, -1>}
func.func @window(%x : memref<1x1x4x16xi8, #npu.sram> {sram.input}) {
  %y = sram.alloc : memref<1x1x3x16xi8, #npu.sram>
  %w = sram.alloc : memref<1x1x2x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %r = %c0 to %c3 step %c1 {
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x3x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[48, 48, 16, 1], offset: ?>, #npu.sram>
    %start = arith.cmpi eq, %r, %c0 : index
    %next = arith.addi %r, %c1 : index
    %first = arith.select %start, %r, %next : index
    %end = arith.addi %r, %c2 : index
    scf.for %s = %first to %end step %c1 {
      %line = memref.subview %x[0, 0, %s, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
      %slot = arith.subi %s, %r : index
      %into = memref.subview %w[0, 0, %slot, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x2x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[32, 32, 16, 1], offset: ?>, #npu.sram>
      "memref.copy"(%line, %into) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[32, 32, 16, 1], offset: ?>, #npu.sram>) -> ()
    }
    npu.max_pool2d ins(%w : memref<1x1x2x16xi8, #npu.sram>) outs(%row : memref<1x1x1x16xi8, strided<[48, 48, 16, 1], offset: ?>, #npu.sram>) kernel [2, 1] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
  }
  "use"(%y) : (memref<1x1x3x16xi8, #npu.sram>) -> ()
  func.return
}

// -----

// Left alone: the first row depends on data.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT:   npu.overlays
func.func @unknown(%x : memref<1x1x4x16xi8, #npu.sram> {sram.input}, %k : index) {
  %y = sram.alloc : memref<1x1x4x16xi8, #npu.sram>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %row = memref.subview %y[0, 0, %r, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    %line = memref.subview %x[0, 0, %k, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x1x4x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>
    "memref.copy"(%line, %row) : (memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>, memref<1x1x1x16xi8, strided<[64, 64, 16, 1], offset: ?>, #npu.sram>) -> ()
  }
  "use"(%y) : (memref<1x1x4x16xi8, #npu.sram>) -> ()
  func.return
}
