// RUN: npu-opt %s -p npu-choose-flash{bytes=9000} | filecheck %s
// RUN: npu-opt %s -p npu-choose-flash{bytes=8000} | filecheck %s --check-prefix=LESS

// The fast layer takes 4608 bytes for its weights. A table that no layer reads takes 4096 bytes of the same flash.
// CHECK-LABEL: func.func @one
// CHECK:       npu.conv2d
// CHECK-NOT:   npu.flash = "small"
// LESS-LABEL:  func.func @one
// LESS:        npu.conv2d
// LESS-SAME:   npu.flash = "small"
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x16x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x16x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "table", type = memref<4096xi8, #npu.flash>, initial_value = dense<2> : tensor<4096xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @one(%x : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x16x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>, memref<16x16x3x3xi8, #npu.flash>) outs(%y : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float {npu.layer = "only"}
    func.return
  }
}
