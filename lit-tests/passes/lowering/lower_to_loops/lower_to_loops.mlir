// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-lower-to-loops{registers=16}' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-lower-to-loops{registers=0}' | filecheck %s --check-prefix=SCALAR

// A pooled output keeps the maximum of its window; no convolution output is stored (Algorithm 1).
// CHECK-LABEL: func.func @fused
// CHECK-NOT: npu.conv2d
// One input channel: the filters are inside the walk over the outputs, not around it.
// CHECK: scf.for %oy = %c0 to %c14
// CHECK: scf.for %ox = %c0 to %c14
// CHECK: scf.for %oc = %c0 to %c6
// One window of 2x2 is one block: a patch of 6x6 for a kernel of 5x5.
// CHECK: memref.subview %x[0, 0, {{.*}}] [1, 1, 6, 6]
// CHECK-COUNT-100: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK-COUNT-3: arith.select {{.*}}
// CHECK: memref.store {{.*}}, %o[%c0, %oc, %oy, %ox]
// CHECK-NOT: memref.store
// CHECK: func.return

// Without an FPU sums are computed one by one, in a loop over the window.
// SCALAR-LABEL: func.func @fused
// SCALAR: scf.for %wy = %c0 to %c2
// SCALAR: scf.for %wx = %c0 to %c2
// SCALAR: memref.subview %x[0, 0, {{.*}}] [1, 1, 5, 5]
// SCALAR-COUNT-25: arith.mulf
// SCALAR-NOT: arith.mulf
// SCALAR: func.return
func.func @fused(%x : memref<1x1x32x32xf32>, %w : memref<6x1x5x5xf32>, %b : memref<6xf32>, %o : memref<1x6x14x14xf32>) {
  npu.conv2d ins(%x, %w, %b : memref<1x1x32x32xf32>, memref<6x1x5x5xf32>, memref<6xf32>) outs(%o : memref<1x6x14x14xf32>) then relu then max_pool [2, 2] by [2, 2]
  func.return
}

// -----

// More channels: a loop over the channels carries the sums of a block of four columns. With few
// products a channel, several channels share an iteration.
// CHECK-LABEL: func.func @channels
// CHECK: scf.for %oy = %c0 to %c4
// CHECK: scf.for %ic = %c0 to %c64 step %c16 iter_args(%acc{{.*}}
// CHECK-COUNT-4: memref.store {{.*}}, %o
// CHECK: func.return
// SCALAR-LABEL: func.func @channels
func.func @channels(%x : memref<1x64x4x4xf32>, %w : memref<2x64x1x1xf32>, %o : memref<1x2x4x4xf32>) {
  npu.conv2d ins(%x, %w : memref<1x64x4x4xf32>, memref<2x64x1x1xf32>) outs(%o : memref<1x2x4x4xf32>)
  func.return
}

// -----

// Overlapping windows: every value is computed once and folded into the output map; nothing is allocated.
// CHECK-LABEL: func.func @accumulate
// CHECK-NOT: alloc
// CHECK: memref.store %cst{{.*}}, %o
// CHECK: arith.mulf
// CHECK-NOT: alloc
// CHECK: scf.for %py
// CHECK: scf.for %px
// CHECK: memref.load %o
// CHECK: arith.cmpf oge
// CHECK: memref.store {{.*}}, %o
// CHECK: func.return
// SCALAR-LABEL: func.func @accumulate
func.func @accumulate(%x : memref<1x1x8x8xf32>, %w : memref<2x1x1x1xf32>, %o : memref<1x2x3x3xf32>) {
  npu.conv2d ins(%x, %w : memref<1x1x8x8xf32>, memref<2x1x1x1xf32>) outs(%o : memref<1x2x3x3xf32>) then max_pool [3, 3] by [2, 2] overlap accumulate
  func.return
}

// -----

// Padding: in the rows of the interior all taps are written out, also in the blocks at both ends of a row, which leave
// out the products with padding. The rows above and below have clipped ranges of kernel rows.
// CHECK-LABEL: func.func @padded
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-NOT: scf.for %ky
// CHECK: scf.for %ox
// CHECK-NOT: scf.for %ky
// CHECK: } else {
// CHECK: scf.for %ky
// CHECK: memref.subview %x[0, 0, {{.*}}, 0] [1, 1, 1, {{[2-4]}}]
// CHECK: scf.for %ox
// CHECK: scf.for %ky
// CHECK: memref.subview %x[0, 0, {{.*}}] [1, 1, 1, {{[3-5]}}]
// CHECK: scf.for %ky
// CHECK: func.return
// SCALAR-LABEL: func.func @padded
func.func @padded(%x : memref<1x1x8x20xf32>, %w : memref<2x1x3x3xf32>, %o : memref<1x2x8x20xf32>) {
  npu.conv2d ins(%x, %w : memref<1x1x8x20xf32>, memref<2x1x3x3xf32>) outs(%o : memref<1x2x8x20xf32>) pads [1, 1, 1, 1]
  func.return
}

// -----

// An element-wise layer in place is one loop over the elements.
// CHECK-LABEL: func.func @in_place
// CHECK: %[[V:.*]] = memref.reinterpret_cast %x to offset: [0], sizes: [24], strides: [1]
// CHECK: scf.for %i = %c0 to %c24
// CHECK: memref.load %[[V]][%i]
// CHECK: memref.store {{.*}}, %[[V]][%i]
// SCALAR-LABEL: func.func @in_place
func.func @in_place(%x : memref<1x2x3x4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<1x2x3x4xf32, #npu.sram>) outs(%x : memref<1x2x3x4xf32, #npu.sram>)
  func.return
}

// -----

// The squares of the channels around each one are added up, fewer of them at both ends.
// CHECK-LABEL: func.func @lrn
// CHECK: scf.for %c = %c0 to %c8
// CHECK: %low = arith.maxsi
// CHECK: scf.for %j
// CHECK: %total = scf.for {{.*}} = %low to %high
// CHECK: math.powf %base
// CHECK: memref.store
// CHECK: func.return
// SCALAR-LABEL: func.func @lrn
func.func @lrn(%x : memref<1x8x3x4xf32, #npu.sram>, %y : memref<1x8x3x4xf32, #npu.sram>) {
  npu.lrn ins(%x : memref<1x8x3x4xf32, #npu.sram>) outs(%y : memref<1x8x3x4xf32, #npu.sram>) size 5 alpha 0.0001 beta 0.75 bias 1.0
  func.return
}

// -----

// A window of one element is its own maximum: nothing is compared with the lowest number.
// CHECK-LABEL: func.func @one_element
// CHECK-NOT: arith.cmpf
// CHECK-NOT: arith.select
// CHECK: func.return
// SCALAR-LABEL: func.func @one_element
// SCALAR-NOT: arith.cmpf
// SCALAR-NOT: arith.select
// SCALAR: func.return
func.func @one_element(%x : memref<1x8x9x9xf32>, %w : memref<8x8x3x3xf32>, %o : memref<1x8x5x5xf32>) {
  npu.conv2d ins(%x, %w : memref<1x8x9x9xf32>, memref<8x8x3x3xf32>) outs(%o : memref<1x8x5x5xf32>) pads [1, 1, 1, 1] then max_pool [1, 1] by [2, 2]
  func.return
}

// -----

// What is no layer stays as it is.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT: "test.op"(%x)
// CHECK-NEXT: func.return
// SCALAR-LABEL: func.func @left_alone
func.func @left_alone(%x : memref<4xf32>) {
  "test.op"(%x) : (memref<4xf32>) -> ()
  func.return
}
