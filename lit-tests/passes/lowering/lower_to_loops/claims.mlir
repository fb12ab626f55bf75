// RUN: npu-opt %s -p npu-lower-to-loops | filecheck %s

// The weights are repacked, so the function loses their argument; the claim names the output by its new number.
// CHECK-LABEL: func.func @net
// CHECK:       func.call @conv(%x, %y) {npu.overlays = array<i64: 0, 1, 0, 8>}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x8x1x1xi8, #npu.flash>, initial_value = dense<1> : tensor<8x8x1x1xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @net() {
    %w = memref.get_global @w : memref<8x8x1x1xi8, #npu.flash>
    %x = sram.alloc : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>
    %y = sram.alloc : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>
    func.call @conv(%x, %w, %y) {npu.overlays = array<i64: 0, 2, 0, 8>} : (memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>, memref<8x8x1x1xi8, #npu.flash>, memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) -> ()
    func.return
  }
  func.func private @conv(%x : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>, %w : memref<8x8x1x1xi8, #npu.flash>, %y : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) {
    npu.conv2d ins(%x, %w : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>, memref<8x8x1x1xi8, #npu.flash>) outs(%y : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] groups 1 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    func.return
  }
}
