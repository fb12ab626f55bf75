// RUN: npu-opt %s -p npu-choose-flash{bytes=7500} | filecheck %s
// RUN: npu-opt %s -p npu-choose-flash{bytes=9000} | filecheck %s --check-prefix=MORE

// A layer that gathers columns has seven vectors of weights for each channel: 7168 bytes, and 512 of first values and scales
// behind 1600 bytes of weights.
// CHECK-LABEL: func.func @columns
// CHECK:       npu.flash = "small"
// MORE-LABEL:  func.func @columns
// MORE-NOT:    npu.flash = "small"
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<64x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<64x1x5x5xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @columns(%x : memref<1x64x12x12xi8, strided<[9216, 1, 768, 64]>, #npu.sram> {sram.input}, %y : memref<1x64x12x12xi8, strided<[9216, 1, 768, 64]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<64x1x5x5xi8, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x64x12x12xi8, strided<[9216, 1, 768, 64]>, #npu.sram>, memref<64x1x5x5xi8, #npu.flash>) outs(%y : memref<1x64x12x12xi8, strided<[9216, 1, 768, 64]>, #npu.sram>) pads [2, 2, 2, 2] groups 64 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float {npu.by_channel}
    func.return
  }
}
