// RUN: npu-opt %s --pass-pipeline='npu-attach-target{target=cortex-m4},npu-lower-to-loops' | filecheck %s

// Pooling windows that overlap: each value of a block is folded into the windows that hold it.
// These are found once for a row, and once for each column; the filters of the block share them.
// They share the loop that clears their outputs, too.
// CHECK-LABEL: func.func @folded
// CHECK: scf.for %py = %c0 to %c3
// CHECK-NEXT: scf.for %px = %c0 to %c3
// CHECK-NEXT: memref.store %{{.+}}, %y[%c0, %c0, %py, %px]
// CHECK-NEXT: memref.store %{{.+}}, %y[%c0, %c1, %py, %px]
// CHECK: scf.for %oy
// CHECK: scf.for %py_1
// CHECK-NOT: scf.for
// CHECK: memref.store %{{.+}}, %y[%c0, %c0, %py_1, %c0]
// CHECK: memref.store %{{.+}}, %y[%c0, %c1, %py_1, %c0]
// CHECK: scf.for %px_1 = %c0 to %c2
// CHECK-NOT: scf.for
// CHECK: memref.store %{{.+}}, %y[%c0, %c0, %py_1, %px_1]
// CHECK: memref.store %{{.+}}, %y[%c0, %c1, %py_1, %px_1]
func.func @folded(%x : memref<1x4x7x7xf32, #npu.sram>, %w : memref<2x4x1x1xf32, #npu.flash>, %y : memref<1x2x3x3xf32, #npu.sram>) {
  npu.conv2d ins(%x, %w : memref<1x4x7x7xf32, #npu.sram>, memref<2x4x1x1xf32, #npu.flash>) outs(%y : memref<1x2x3x3xf32, #npu.sram>) then max_pool [3, 3] by [2, 2] overlap accumulate
  func.return
}
