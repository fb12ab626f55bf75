// RUN: npu-opt %s -p npu-check-overlays --verify-diagnostics | filecheck %s

// A pair of words backwards: the second word of the next pair is the one that was just overwritten.
func.func @pairs_backwards() {
  %y = sram.alloc at 0 : memref<8xi32, #npu.sram>
  %x = sram.alloc at 4 : memref<8xi32, #npu.sram>
  // CHECK: expected operand 0 farther than 4 bytes behind operand 1: its bytes are read after they are overwritten
  func.call @pairs(%x, %y) {npu.layer = "pairs", npu.overlays = array<i64: 0, 1, 0, 0>} : (memref<8xi32, #npu.sram>, memref<8xi32, #npu.sram>) -> ()
  func.return
}
func.func private @pairs(%x : memref<8xi32, #npu.sram>, %y : memref<8xi32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c7 step %c1 {
    %at = arith.subi %c6, %i : index
    %to = arith.subi %c7, %i : index
    %v, %w = dsp.load_pair %x[%at] : memref<8xi32, #npu.sram> -> i32, i32
    memref.store %w, %y[%to] : memref<8xi32, #npu.sram>
  }
  func.return
}
