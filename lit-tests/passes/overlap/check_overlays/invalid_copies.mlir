// RUN: npu-opt %s -p npu-check-overlays --verify-diagnostics | filecheck %s

// A block of words is loaded before it is stored, but the next one is overwritten by one byte.
func.func @block() {
  %x = sram.alloc at 0 : memref<64xi8, #npu.sram>
  %y = sram.alloc at 1 : memref<64xi8, #npu.sram>
  // CHECK: expected operand 0 farther than -1 bytes behind operand 1: its bytes are read after they are overwritten
  func.call @blocks(%x, %y) {npu.layer = "copy", npu.overlays = array<i64: 0, 1, 0, 0>} : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>) -> ()
  func.return
}
func.func private @blocks(%x : memref<64xi8, #npu.sram>, %y : memref<64xi8, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    dsp.copy_words 4 from %x[%i] to %y[%i] : memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>
  }
  func.return
}
