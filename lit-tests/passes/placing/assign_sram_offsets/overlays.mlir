// RUN: npu-opt %s -p npu-assign-sram-offsets --allow-unregistered-dialect --split-input-file | filecheck %s

// An output follows 16 bytes in front of its dying input: 64 + 16 bytes in place of 128.
// CHECK-LABEL: func.func @dies
// CHECK-SAME:  sram.arena = 80 : i64
func.func @dies() {
  %x = sram.alloc : memref<64xi8, #npu.sram>
  %y = sram.alloc : memref<64xi8, #npu.sram>
  "fill"(%x) : (memref<64xi8, #npu.sram>) -> ()
  npu.relu ins(%x : memref<64xi8, #npu.sram>) outs(%y : memref<64xi8, #npu.sram>) {npu.overlays = array<i64: 0, 1, 16, -1>}
  "use"(%y) : (memref<64xi8, #npu.sram>) -> ()
  func.return
}

// -----

// An input that is read later is not overwritten, whatever the layer says.
// CHECK-LABEL: func.func @read_later
// CHECK-SAME:  sram.arena = 128 : i64
func.func @read_later() {
  %x = sram.alloc : memref<64xi8, #npu.sram>
  %y = sram.alloc : memref<64xi8, #npu.sram>
  "fill"(%x) : (memref<64xi8, #npu.sram>) -> ()
  npu.relu ins(%x : memref<64xi8, #npu.sram>) outs(%y : memref<64xi8, #npu.sram>) {npu.overlays = array<i64: 0, 1, 16, -1>}
  "use"(%x, %y) : (memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>) -> ()
  func.return
}
