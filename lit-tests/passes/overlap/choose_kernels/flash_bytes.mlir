// RUN: npu-opt %s -p npu-use-flash{bytes=1000},npu-choose-kernels --allow-unregistered-dialect | filecheck %s
// RUN: npu-opt %s -p npu-use-flash{bytes=440},npu-choose-kernels --allow-unregistered-dialect | filecheck %s --check-prefix=LESS
// RUN: npu-opt %s -p npu-use-flash{bytes=0},npu-choose-kernels --allow-unregistered-dialect | filecheck %s --check-prefix=LEAST

// A working memory takes constants of twice the bytes. There are enough for both layers, or for the one with more pixels,
// or for none: then layers are as small as they can be.

// CHECK-COUNT-2: scratch(
// LESS:          npu.conv2d ins(%x, {{.*}}scratch(
// LESS-NOT:      scratch(
// LESS:          npu.conv2d ins(%u, {{.*}}npu.flash = "small"
// LEAST-NOT:     scratch(
// LEAST-COUNT-2: npu.flash = "small"
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @two(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}, %u : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %v = memref.get_global @v : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %z = sram.alloc : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>
    npu.conv2d ins(%u, %v : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%z : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%z) : (memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}
