// RUN: npu-opt %s -p npu-transpose-in-place | filecheck %s

// Layers that read strided rows read the map itself, also through a slice.
// CHECK-LABEL: func.func @read
// CHECK-NOT: npu.transpose
// CHECK:      %q = memref.reinterpret_cast %x to offset: [6], sizes: [1, 2, 5, 3], strides: [1, 3, 12, 1]
// CHECK-SAME: strided<[1, 3, 12, 1], offset: 6>
// CHECK:      npu.matmul ins(%q, %w :
func.func @read(%x: memref<1x5x2x2x3xf32, #npu.sram>, %w: memref<3x4xf32, #npu.sram>, %y: memref<1x2x5x4xf32, #npu.sram>) {
  %t = sram.alloc : memref<2x1x2x5x3xf32, #npu.sram>
  npu.transpose ins(%x : memref<1x5x2x2x3xf32, #npu.sram>) outs(%t : memref<2x1x2x5x3xf32, #npu.sram>) perm [2, 0, 3, 1, 4]
  %q = memref.reinterpret_cast %t to offset: [30], sizes: [1, 2, 5, 3], strides: [30, 15, 3, 1] : memref<2x1x2x5x3xf32, #npu.sram> to memref<1x2x5x3xf32, strided<[30, 15, 3, 1], offset: 30>, #npu.sram>
  npu.matmul ins(%q, %w : memref<1x2x5x3xf32, strided<[30, 15, 3, 1], offset: 30>, #npu.sram>, memref<3x4xf32, #npu.sram>) outs(%y : memref<1x2x5x4xf32, #npu.sram>)
  func.return
}

// A map that is only transposed is computed at its place in the transposed one.
// CHECK-LABEL: func.func @write
// CHECK-NOT: npu.transpose
// CHECK:     %a = memref.reinterpret_cast %y to offset: [0], sizes: [1, 2, 5, 4], strides: [40, 4, 8, 1]
// CHECK:     scf.for
// CHECK:       %row = memref.subview %a[0, 0, %{{.*}}, 0] [1, 2, 1, 4] [1, 1, 1, 1]
// CHECK-SAME:    memref<1x2x1x4xf32, strided<[40, 4, 8, 1], offset: ?>, #npu.sram>
// CHECK:       npu.matmul
func.func @write(%x: memref<1x2x1x3xf32, #npu.sram>, %w: memref<3x4xf32, #npu.sram>, %y: memref<1x5x2x4xf32, #npu.sram>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %five = arith.constant 5 : index
  %a = sram.alloc : memref<1x2x5x4xf32, #npu.sram>
  scf.for %i = %zero to %five step %one {
    %row = memref.subview %a[0, 0, %i, 0] [1, 2, 1, 4] [1, 1, 1, 1] : memref<1x2x5x4xf32, #npu.sram> to memref<1x2x1x4xf32, strided<[40, 20, 4, 1], offset: ?>, #npu.sram>
    npu.matmul ins(%x, %w : memref<1x2x1x3xf32, #npu.sram>, memref<3x4xf32, #npu.sram>) outs(%row : memref<1x2x1x4xf32, strided<[40, 20, 4, 1], offset: ?>, #npu.sram>)
  }
  npu.transpose ins(%a : memref<1x2x5x4xf32, #npu.sram>) outs(%y : memref<1x5x2x4xf32, #npu.sram>) perm [0, 2, 1, 3]
  func.return
}

// An image that the caller gives with channels last: layers with windows read it where it lies, and no other layers.
// CHECK-LABEL: func.func @image
// CHECK-NEXT: %t = memref.reinterpret_cast %x to offset: [0], sizes: [1, 3, 8, 8], strides: [192, 1, 24, 3]
// CHECK-NOT: npu.transpose
func.func @image(%x: memref<1x8x8x3xf32, #npu.sram> {sram.input}, %w: memref<4x3x3x3xf32, #npu.flash>, %y: memref<1x4x6x6xf32, #npu.sram> {sram.output}) {
  %t = sram.alloc : memref<1x3x8x8xf32, #npu.sram>
  npu.transpose ins(%x : memref<1x8x8x3xf32, #npu.sram>) outs(%t : memref<1x3x8x8xf32, #npu.sram>) perm [0, 3, 1, 2]
  npu.conv2d ins(%t, %w : memref<1x3x8x8xf32, #npu.sram>, memref<4x3x3x3xf32, #npu.flash>) outs(%y : memref<1x4x6x6xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  func.return
}

// CHECK-LABEL: func.func @bytes
// CHECK-NEXT: %t = memref.reinterpret_cast %x to offset: [0], sizes: [1, 3, 8, 8], strides: [192, 1, 24, 3]
// CHECK-NOT: npu.transpose
func.func @bytes(%x: memref<1x8x8x3xi8, #npu.sram> {sram.input}, %y: memref<1x3x6x6xi8, #npu.sram> {sram.output}) {
  %t = sram.alloc : memref<1x3x8x8xi8, #npu.sram>
  npu.transpose ins(%x : memref<1x8x8x3xi8, #npu.sram>) outs(%t : memref<1x3x8x8xi8, #npu.sram>) perm [0, 3, 1, 2]
  npu.max_pool2d ins(%t : memref<1x3x8x8xi8, #npu.sram>) outs(%y : memref<1x3x6x6xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
  func.return
}

// CHECK-LABEL: func.func @no_windows
// CHECK: npu.transpose
func.func @no_windows(%x: memref<1x8x8x3xf32, #npu.sram> {sram.input}, %y: memref<1x3x8x8xf32, #npu.sram> {sram.output}) {
  %t = sram.alloc : memref<1x3x8x8xf32, #npu.sram>
  npu.transpose ins(%x : memref<1x8x8x3xf32, #npu.sram>) outs(%t : memref<1x3x8x8xf32, #npu.sram>) perm [0, 3, 1, 2]
  npu.softmax ins(%t : memref<1x3x8x8xf32, #npu.sram>) outs(%y : memref<1x3x8x8xf32, #npu.sram>) axis 1
  func.return
}

// A map that is no input keeps the order in which it is computed.
// CHECK-LABEL: func.func @inside
// CHECK: npu.transpose
func.func @inside(%x: memref<1x8x8x3xi8, #npu.sram> {sram.input}, %y: memref<1x3x6x6xi8, #npu.sram> {sram.output}) {
  %a = sram.alloc : memref<1x8x8x3xi8, #npu.sram>
  npu.relu ins(%x : memref<1x8x8x3xi8, #npu.sram>) outs(%a : memref<1x8x8x3xi8, #npu.sram>)
  %t = sram.alloc : memref<1x3x8x8xi8, #npu.sram>
  npu.transpose ins(%a : memref<1x8x8x3xi8, #npu.sram>) outs(%t : memref<1x3x8x8xi8, #npu.sram>) perm [0, 3, 1, 2]
  npu.max_pool2d ins(%t : memref<1x3x8x8xi8, #npu.sram>) outs(%y : memref<1x3x6x6xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
  func.return
}
