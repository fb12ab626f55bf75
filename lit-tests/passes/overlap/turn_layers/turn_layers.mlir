// RUN: npu-opt %s -p npu-turn-layers | filecheck %s

// Input behind the output: forwards. Output behind the input, or at the same place if only
// that way is possible: backwards. Side by side: forwards.
// CHECK-LABEL: func.func @net
// CHECK:       npu.relu {{.*}} {npu.layer = "forwards", npu.overlays = {{[^}]*}}>}
// CHECK:       npu.relu {{.*}} {npu.layer = "backwards", npu.overlays = {{.*}}, npu.backwards}
// CHECK:       npu.relu {{.*}} {npu.layer = "apart", npu.overlays = {{[^}]*}}>}
// CHECK:       npu.relu {{.*}} {npu.layer = "same", npu.overlays = {{.*}}, npu.backwards}
func.func @net() {
  %a = sram.alloc at 16 : memref<64xi8, #npu.sram>
  %b = sram.alloc at 0 : memref<64xi8, #npu.sram>
  %c = sram.alloc at 8 : memref<64xi8, #npu.sram>
  %d = sram.alloc at 72 : memref<64xi8, #npu.sram>
  npu.relu ins(%a : memref<64xi8, #npu.sram>) outs(%b : memref<64xi8, #npu.sram>) {npu.layer = "forwards", npu.overlays = array<i64: 0, 1, 16, 8>}
  npu.relu ins(%b : memref<64xi8, #npu.sram>) outs(%c : memref<64xi8, #npu.sram>) {npu.layer = "backwards", npu.overlays = array<i64: 0, 1, 16, 8>}
  npu.relu ins(%c : memref<64xi8, #npu.sram>) outs(%d : memref<64xi8, #npu.sram>) {npu.layer = "apart", npu.overlays = array<i64: 0, 1, 16, 8>}
  %e = sram.alloc at 72 : memref<64xi8, #npu.sram>
  npu.relu ins(%d : memref<64xi8, #npu.sram>) outs(%e : memref<64xi8, #npu.sram>) {npu.layer = "same", npu.overlays = array<i64: 0, 1, 16, 0>}
  func.return
}
