// RUN: npu-opt %s -p npu-check-overlays | filecheck %s

// Each step reads 4 bytes, then writes 4: input and output may start at the same byte.
// CHECK-LABEL: func.func @same
func.func @same() {
  %x = sram.alloc at 0 : memref<64xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<64xi8, #npu.sram>
  func.call @words(%x, %y) {npu.overlays = array<i64: 0, 1, 0, 0>} : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>) -> ()
  func.return
}
func.func private @words(%x : memref<64xi8, #npu.sram>, %y : memref<64xi8, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c4 {
    %w = dsp.load_word %x[%i] : memref<64xi8, #npu.sram> -> i32
    dsp.store_word %w, %y[%i] : i32, memref<64xi8, #npu.sram>
  }
  func.return
}
