// RUN: npu-opt %s -p npu-lower-to-loops | filecheck %s

// The only bias is loaded once, in front of the loops. They run from the last row on, wherever the
// constant comes from: a function may get it as an argument.
// CHECK-LABEL: func.func @of_arguments
// CHECK:         memref.load %bias
// CHECK:         %[[LAST:.*]] = arith.constant 4 : index
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK-NEXT:      arith.subi %[[LAST]], %[[ROW]]
// CHECK-NOT:     npu.backwards
func.func @of_arguments(%ifm: memref<1x1x7x6xf32, #npu.sram>, %weight: memref<1x1x3x3xf32, #npu.flash>, %bias: memref<1xf32, #npu.flash>, %ofm: memref<1x1x5x4xf32, #npu.sram>) {
  npu.conv2d ins(%ifm, %weight, %bias : memref<1x1x7x6xf32, #npu.sram>, memref<1x1x3x3xf32, #npu.flash>, memref<1xf32, #npu.flash>) outs(%ofm : memref<1x1x5x4xf32, #npu.sram>) {npu.backwards}
  func.return
}
