// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-concat-in-place)' | filecheck %s

// Views of a part that becomes a slice get its strides and its offset, views of views too.

// CHECK-LABEL: func.func @views
// CHECK: %a = memref.subview %y[0, 1] [2, 2] [1, 1] : memref<2x3xf32, #npu.sram> to memref<2x2xf32, strided<[3, 1], offset: 1>, #npu.sram>
// CHECK: %s = memref.subview %a[1, 0] [1, 2] [1, 1] : {{.*}} to memref<1x2xf32, strided<[3, 1], offset: 4>, #npu.sram>
// CHECK: %t = memref.subview %s[0, 1] [1, 1] [1, 1] : {{.*}} to memref<1x1xf32, strided<[3, 1], offset: 5>, #npu.sram>
func.func @views(%x: memref<2x2xf32, #npu.sram>, %b: memref<2x1xf32, #npu.sram>, %o: memref<1x1xf32, #npu.sram>) {
  %a = sram.alloc : memref<2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<2x2xf32, #npu.sram>) outs(%a : memref<2x2xf32, #npu.sram>)
  %s = memref.subview %a[1, 0] [1, 2] [1, 1] : memref<2x2xf32, #npu.sram> to memref<1x2xf32, strided<[2, 1], offset: 2>, #npu.sram>
  %t = memref.subview %s[0, 1] [1, 1] [1, 1] : memref<1x2xf32, strided<[2, 1], offset: 2>, #npu.sram> to memref<1x1xf32, strided<[2, 1], offset: 3>, #npu.sram>
  npu.relu ins(%t : memref<1x1xf32, strided<[2, 1], offset: 3>, #npu.sram>) outs(%o : memref<1x1xf32, #npu.sram>)
  %y = sram.alloc : memref<2x3xf32, #npu.sram>
  npu.concat ins(%b, %a : memref<2x1xf32, #npu.sram>, memref<2x2xf32, #npu.sram>) outs(%y : memref<2x3xf32, #npu.sram>) axis 1
  npu.relu ins(%y : memref<2x3xf32, #npu.sram>) outs(%y : memref<2x3xf32, #npu.sram>)
  func.return
}

// A part of which a slice is read after the output is overwritten stays where it is.

// CHECK-LABEL: func.func @read_later
// CHECK: %a = sram.alloc : memref<2x2xf32, #npu.sram>
// CHECK: %s = memref.subview %a
func.func @read_later(%x: memref<2x2xf32, #npu.sram>, %b: memref<2x1xf32, #npu.sram>, %o: memref<1x2xf32, #npu.sram>) {
  %a = sram.alloc : memref<2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<2x2xf32, #npu.sram>) outs(%a : memref<2x2xf32, #npu.sram>)
  %s = memref.subview %a[1, 0] [1, 2] [1, 1] : memref<2x2xf32, #npu.sram> to memref<1x2xf32, strided<[2, 1], offset: 2>, #npu.sram>
  %y = sram.alloc : memref<2x3xf32, #npu.sram>
  npu.concat ins(%b, %a : memref<2x1xf32, #npu.sram>, memref<2x2xf32, #npu.sram>) outs(%y : memref<2x3xf32, #npu.sram>) axis 1
  npu.relu ins(%y : memref<2x3xf32, #npu.sram>) outs(%y : memref<2x3xf32, #npu.sram>)
  npu.relu ins(%s : memref<1x2xf32, strided<[2, 1], offset: 2>, #npu.sram>) outs(%o : memref<1x2xf32, #npu.sram>)
  func.return
}
