// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @working_memory
// GENERIC-LABEL: sym_name = "working_memory"
func.func @working_memory(%x: memref<1x4x9x9xi8, #npu.sram>, %w: memref<4x1x3x3xi8, #npu.flash>, %b: memref<4xi32, #npu.flash>, %y: memref<1x4x7x7xi8, #npu.sram>, %s: memref<99xi16, #npu.sram>) {
  // CHECK: npu.conv2d ins(%x, %w, %b : memref<1x4x9x9xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>, memref<4xi32, #npu.flash>) outs(%y : memref<1x4x7x7xi8, #npu.sram>) scratch(%s : memref<99xi16, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] groups 4
  // GENERIC: "npu.conv2d"(%x, %w, %b, %s, %y) <{{{.*}}operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1>}>
  npu.conv2d ins(%x, %w, %b : memref<1x4x9x9xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>, memref<4xi32, #npu.flash>) outs(%y : memref<1x4x7x7xi8, #npu.sram>) scratch(%s : memref<99xi16, #npu.sram>) groups 4 zero_points [0, 0] then requantize scales [0.01] zero_point 0 mode float
  func.return
}
