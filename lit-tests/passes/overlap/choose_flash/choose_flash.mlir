// RUN: npu-opt %s -p npu-choose-flash{bytes=7000} | filecheck %s
// RUN: npu-opt %s -p npu-choose-flash{bytes=6000} | filecheck %s --check-prefix=LESS
// RUN: npu-opt %s -p npu-choose-flash{bytes=0} | filecheck %s --check-prefix=LEAST
// RUN: npu-opt %s -p npu-choose-flash | filecheck %s --check-prefix=ALL
// RUN: npu-opt %s -p npu-use-flash{bytes=7000},npu-choose-flash | filecheck %s
// RUN: npu-opt %s -p npu-use-flash{prefer=fast},npu-choose-flash | filecheck %s --check-prefix=ALL

// Two layers of 2304 weights each. One of them computes four times as many pixels, so 2304 more bytes save four times as
// many instructions there.
// CHECK-LABEL: func.func @two
// CHECK:       npu.conv2d ins(%x, %w
// CHECK-SAME:  mode float {npu.layer = "large"}
// CHECK-NEXT:  npu.conv2d ins(%z, %v
// CHECK-SAME:  mode float {npu.layer = "little", npu.flash = "small"}

// There are bytes for the weights only.
// LESS-LABEL:  func.func @two
// LESS-COUNT-2: npu.flash = "small"

// Where even these are too many, both layers are as small as they can be.
// LEAST-LABEL: func.func @two
// LEAST-COUNT-2: npu.flash = "small"

// The flash of the machine holds all, or the module says what layers are.
// ALL-LABEL:   func.func @two
// ALL-NOT:     npu.flash = "small"
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x16x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x16x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<16x16x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<16x16x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @two(%x : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram> {sram.input}, %z : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x16x3x3xi8, #npu.flash>
    %v = memref.get_global @v : memref<16x16x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    %u = sram.alloc : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>, memref<16x16x3x3xi8, #npu.flash>) outs(%y : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float {npu.layer = "large"}
    npu.conv2d ins(%z, %v : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, memref<16x16x3x3xi8, #npu.flash>) outs(%u : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>) pads [1, 1, 1, 1] zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float {npu.layer = "little"}
    func.return
  }
}
