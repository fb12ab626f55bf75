// RUN: npu-opt %s -p npu-choose-flash{bytes=2000} | filecheck %s

// All constants fit in the fast form. On vectors, this layer of floats takes fewer instructions in the small one.
// CHECK-LABEL: func.func @floats
// CHECK:       npu.conv2d
// CHECK-SAME:  npu.flash = "small"
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 262144 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<8xf32, #npu.flash>, initial_value = dense<2.0> : tensor<8xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "table", type = memref<64xi8, #npu.flash>, initial_value = dense<2> : tensor<64xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @floats(%x : memref<1x8x48x48xf32, strided<[18432, 1, 384, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xf32, #npu.flash>
    %b = memref.get_global @b : memref<8xf32, #npu.flash>
    %y = sram.alloc : memref<1x8x48x48xf32, strided<[18432, 1, 384, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w, %b : memref<1x8x48x48xf32, strided<[18432, 1, 384, 8]>, #npu.sram>, memref<8x1x3x3xf32, #npu.flash>, memref<8xf32, #npu.flash>) outs(%y : memref<1x8x48x48xf32, strided<[18432, 1, 384, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 {npu.layer = "depthwise"}
    func.return
  }
}
