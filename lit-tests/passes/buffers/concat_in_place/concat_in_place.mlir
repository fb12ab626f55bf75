// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-concat-in-place | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-concat-in-place,npu-assign-sram-offsets | filecheck %s --check-prefix=OFFSETS

// Both parts are written where the concatenation would have put them.
// CHECK-LABEL: func.func @both
// CHECK: %y = sram.alloc : memref<1x5x4x4xf32, #npu.sram>
// CHECK-NEXT: %a = memref.subview %y[0, 0, 0, 0] [1, 2, 4, 4] [1, 1, 1, 1]
// CHECK-NEXT: npu.transpose ins(%x {{.*}} outs(%a
// CHECK: %b = memref.subview %y[0, 2, 0, 0] [1, 3, 4, 4] [1, 1, 1, 1]
// CHECK-NEXT: npu.conv2d ins(%x, {{.*}} outs(%b
// CHECK-NOT: npu.concat
// CHECK: "test.op"(%y)

// The scratch buffer is dead before the second slice is written: it may lie there.
// OFFSETS-LABEL: func.func @both
// OFFSETS-SAME: sram.arena = 448
// OFFSETS: %t = sram.alloc at 128
// OFFSETS: %y = sram.alloc at 0
func.func @both(%x : memref<1x2x4x4xf32, #npu.sram> {sram.input}, %w : memref<3x2x1x1xf32>) {
  %t = sram.alloc : memref<16xf32, #npu.sram>
  %a = sram.alloc : memref<1x2x4x4xf32, #npu.sram>
  npu.transpose ins(%x : memref<1x2x4x4xf32, #npu.sram>) outs(%a : memref<1x2x4x4xf32, #npu.sram>) perm [0, 1, 3, 2]
  "test.op"(%t) : (memref<16xf32, #npu.sram>) -> ()
  %b = sram.alloc : memref<1x3x4x4xf32, #npu.sram>
  npu.conv2d ins(%x, %w : memref<1x2x4x4xf32, #npu.sram>, memref<3x2x1x1xf32>) outs(%b : memref<1x3x4x4xf32, #npu.sram>)
  %y = sram.alloc : memref<1x5x4x4xf32, #npu.sram>
  npu.concat ins(%a, %b : memref<1x2x4x4xf32, #npu.sram>, memref<1x3x4x4xf32, #npu.sram>) outs(%y : memref<1x5x4x4xf32, #npu.sram>) axis 1
  "test.op"(%y) : (memref<1x5x4x4xf32, #npu.sram>) -> ()
  func.return
}

// -----

// Concatenations in concatenations: the slices of slices.
// CHECK-LABEL: func.func @nested
// CHECK: %y = sram.alloc : memref<1x3x2x2xf32, #npu.sram>
// CHECK: %i = memref.subview %y[0, 0, 0, 0] [1, 2, 2, 2]
// CHECK: %a = memref.subview %i[0, 0, 0, 0] [1, 1, 2, 2]
// CHECK: %b = memref.subview %i[0, 1, 0, 0] [1, 1, 2, 2]
// CHECK-NOT: npu.concat
// CHECK: func.return
// OFFSETS-LABEL: func.func @nested
func.func @nested(%x : memref<1x1x2x2xf32, #npu.sram> {sram.input}) {
  %a = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%a : memref<1x1x2x2xf32, #npu.sram>)
  %b = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%b : memref<1x1x2x2xf32, #npu.sram>)
  %i = sram.alloc : memref<1x2x2x2xf32, #npu.sram>
  npu.concat ins(%a, %b : memref<1x1x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) outs(%i : memref<1x2x2x2xf32, #npu.sram>) axis 1
  %c = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%c : memref<1x1x2x2xf32, #npu.sram>)
  %y = sram.alloc : memref<1x3x2x2xf32, #npu.sram>
  npu.concat ins(%i, %c : memref<1x2x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) outs(%y : memref<1x3x2x2xf32, #npu.sram>) axis 1
  "test.op"(%y) : (memref<1x3x2x2xf32, #npu.sram>) -> ()
  func.return
}

// -----

// An input of the function, and a buffer that is changed behind the concatenation, are copied.
// CHECK-LABEL: func.func @some
// CHECK: %y = sram.alloc
// CHECK: %a = memref.subview %y[0, 1, 0, 0]
// CHECK: %b = sram.alloc
// CHECK: npu.concat ins(%x {{.*}} outs(%{{.*}} axis 1
// CHECK: npu.concat ins(%b {{.*}} outs(%{{.*}} axis 1
// CHECK: npu.relu ins(%b
// CHECK: func.return
// OFFSETS-LABEL: func.func @some
func.func @some(%x : memref<1x1x2x2xf32, #npu.sram> {sram.input}) {
  %a = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%a : memref<1x1x2x2xf32, #npu.sram>)
  %b = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%b : memref<1x1x2x2xf32, #npu.sram>)
  %y = sram.alloc : memref<1x3x2x2xf32, #npu.sram>
  npu.concat ins(%x, %a, %b : memref<1x1x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) outs(%y : memref<1x3x2x2xf32, #npu.sram>) axis 1
  npu.relu ins(%b : memref<1x1x2x2xf32, #npu.sram>) outs(%b : memref<1x1x2x2xf32, #npu.sram>)
  "test.op"(%y, %b) : (memref<1x3x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) -> ()
  func.return
}

// -----

// Nothing to do: a part twice, a pinned part, and a concatenation of tensors.
// CHECK-LABEL: func.func @left_alone
// CHECK: npu.concat ins(%a, %a
// CHECK: npu.concat ins(%p, %x
// CHECK: npu.concat %t, %t axis 0
// OFFSETS-LABEL: func.func @left_alone
func.func @left_alone(%x : memref<1x1x2x2xf32, #npu.sram> {sram.input}, %t : tensor<1xf32>) {
  %a = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%a : memref<1x1x2x2xf32, #npu.sram>)
  %y = sram.alloc : memref<1x2x2x2xf32, #npu.sram>
  npu.concat ins(%a, %a : memref<1x1x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) outs(%y : memref<1x2x2x2xf32, #npu.sram>) axis 1
  %p = sram.alloc at 512 : memref<1x1x2x2xf32, #npu.sram>
  npu.relu ins(%x : memref<1x1x2x2xf32, #npu.sram>) outs(%p : memref<1x1x2x2xf32, #npu.sram>)
  %z = sram.alloc : memref<1x2x2x2xf32, #npu.sram>
  npu.concat ins(%p, %x : memref<1x1x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) outs(%z : memref<1x2x2x2xf32, #npu.sram>) axis 1
  %u = npu.concat %t, %t axis 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  func.return
}

// -----

// A part that is written row by row moves too: the views of it get the pitches of the whole.
// CHECK-LABEL: func.func @rows
// CHECK: %y = sram.alloc : memref<1x2x2x2xf32, #npu.sram>
// CHECK-NEXT: %a = memref.subview %y[0, 1, 0, 0] [1, 1, 2, 2]
// CHECK: memref.subview %a[0, 0, %i, 0] [1, 1, 1, 2] [1, 1, 1, 1] {{.*}} to memref<1x1x1x2xf32, strided<[8, 4, 2, 1], offset: ?>, #npu.sram>
// CHECK: npu.concat ins(%x
// CHECK-NOT: npu.concat
// OFFSETS-LABEL: func.func @rows
func.func @rows(%x : memref<1x1x2x2xf32, #npu.sram> {sram.input}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %f = arith.constant 1.0 : f32
  %a = sram.alloc : memref<1x1x2x2xf32, #npu.sram>
  scf.for %i = %c0 to %c2 step %c1 {
    %r = memref.subview %a[0, 0, %i, 0] [1, 1, 1, 2] [1, 1, 1, 1] : memref<1x1x2x2xf32, #npu.sram> to memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>, #npu.sram>
    memref.store %f, %r[%c0, %c0, %c0, %c1] : memref<1x1x1x2xf32, strided<[4, 4, 2, 1], offset: ?>, #npu.sram>
  }
  %y = sram.alloc : memref<1x2x2x2xf32, #npu.sram>
  npu.concat ins(%x, %a : memref<1x1x2x2xf32, #npu.sram>, memref<1x1x2x2xf32, #npu.sram>) outs(%y : memref<1x2x2x2xf32, #npu.sram>) axis 1
  "test.op"(%y) : (memref<1x2x2x2xf32, #npu.sram>) -> ()
  func.return
}

// -----

// Maps that take turns get strided slices; an input of the function is copied.
// CHECK-LABEL: func.func @interleave
// CHECK:       %a = memref.subview %y[0, 0] [2, 3] [1, 2] : memref<2x5xf32, #npu.sram> to memref<2x3xf32, strided<[5, 2]>, #npu.sram>
// CHECK-NEXT:  npu.softmax ins(%x : memref<2x3xf32, #npu.sram>) outs(%a : memref<2x3xf32, strided<[5, 2]>, #npu.sram>) axis 1
// CHECK:       memref.subview %y[0, 1] [2, 2] [1, 2] : memref<2x5xf32, #npu.sram> to memref<2x2xf32, strided<[5, 2], offset: 1>, #npu.sram>
// CHECK-NEXT:  npu.concat ins(%b : {{.*}} axis 0
// CHECK-NOT:   npu.interleave
func.func @interleave(%x: memref<2x3xf32, #npu.sram>, %b: memref<2x2xf32, #npu.sram>, %y: memref<2x5xf32, #npu.sram>) {
  %a = sram.alloc : memref<2x3xf32, #npu.sram>
  npu.softmax ins(%x : memref<2x3xf32, #npu.sram>) outs(%a : memref<2x3xf32, #npu.sram>) axis 1
  npu.interleave ins(%a, %b : memref<2x3xf32, #npu.sram>, memref<2x2xf32, #npu.sram>) outs(%y : memref<2x5xf32, #npu.sram>) steps [1, 2]
  func.return
}
