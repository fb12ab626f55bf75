// RUN: npu-opt %s -p npu-check-overlays --split-input-file --verify-diagnostics | filecheck %s

// Two channels of eight pixels: a step reads and writes its own channel, which is every second byte.
// CHECK-LABEL: func.func @same_channels
func.func @same_channels(%v : vector<8xi16>) {
  %x = sram.alloc at 2 : memref<64xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<64xi8, #npu.sram>
  func.call @pixels(%x, %y, %v) {npu.overlays = array<i64: 0, 1, 2, -2>} : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>, vector<8xi16>) -> ()
  func.return
}
func.func private @pixels(%x : memref<64xi8, #npu.sram>, %y : memref<64xi8, #npu.sram>, %v : vector<8xi16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %p = mve.gather %x[%i] at %v reach 15 step 2 : memref<64xi8, #npu.sram>
    mve.scatter %p, %y[%i] at %v reach 15 step 2 : memref<64xi8, #npu.sram>
  }
  func.return
}

// -----

// A byte more, and the first channel overwrites the second one.
func.func @another_channel(%v : vector<8xi16>) {
  %x = sram.alloc at 1 : memref<64xi8, #npu.sram>
  %y = sram.alloc at 0 : memref<64xi8, #npu.sram>
  // CHECK: expected operand 0 farther than 1 bytes behind operand 1: its bytes are read after they are overwritten
  func.call @pixels(%x, %y, %v) {npu.layer = "copy", npu.overlays = array<i64: 0, 1, 1, -2>} : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>, vector<8xi16>) -> ()
  func.return
}
func.func private @pixels(%x : memref<64xi8, #npu.sram>, %y : memref<64xi8, #npu.sram>, %v : vector<8xi16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %p = mve.gather %x[%i] at %v reach 15 step 2 : memref<64xi8, #npu.sram>
    mve.scatter %p, %y[%i] at %v reach 15 step 2 : memref<64xi8, #npu.sram>
  }
  func.return
}
