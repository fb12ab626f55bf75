// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-choose-layouts | filecheck %s

// Words of channels are what it takes: neither fewer, nor other elements, nor one pixel, nor vectors.
// CHECK-LABEL: func.func @kinds
// CHECK: %few = sram.alloc : memref<1x3x4x4xi8, #npu.sram>
// CHECK: %float = sram.alloc : memref<1x8x4x4xf32, #npu.sram>
// CHECK: %sums = sram.alloc : memref<1x8x4x4xi32, #npu.sram>
// CHECK: %pixel = sram.alloc : memref<1x8x1x1xi8, #npu.sram>
// CHECK: %vector = sram.alloc : memref<1x8xi8, #npu.sram>
func.func @kinds() {
  %few = sram.alloc : memref<1x3x4x4xi8, #npu.sram>
  npu.relu ins(%few : memref<1x3x4x4xi8, #npu.sram>) outs(%few : memref<1x3x4x4xi8, #npu.sram>)
  %float = sram.alloc : memref<1x8x4x4xf32, #npu.sram>
  npu.relu ins(%float : memref<1x8x4x4xf32, #npu.sram>) outs(%float : memref<1x8x4x4xf32, #npu.sram>)
  %sums = sram.alloc : memref<1x8x4x4xi32, #npu.sram>
  npu.relu ins(%sums : memref<1x8x4x4xi32, #npu.sram>) outs(%sums : memref<1x8x4x4xi32, #npu.sram>)
  %pixel = sram.alloc : memref<1x8x1x1xi8, #npu.sram>
  npu.relu ins(%pixel : memref<1x8x1x1xi8, #npu.sram>) outs(%pixel : memref<1x8x1x1xi8, #npu.sram>)
  %vector = sram.alloc : memref<1x8xi8, #npu.sram>
  npu.relu ins(%vector : memref<1x8xi8, #npu.sram>) outs(%vector : memref<1x8xi8, #npu.sram>)
  func.return
}

// -----

// What something but a layer uses stays as the model has it: views, copies, calls, foreign ops.
// CHECK-LABEL: func.func @users
// CHECK-COUNT-4: sram.alloc : memref<1x4x2x2xi8, #npu.sram>
// CHECK-NOT: strided<[16, 1
// CHECK: func.return
func.func private @layer(%x : memref<1x4x2x2xi8, #npu.sram>)
func.func @users(%y : memref<1x4x2x2xi8, #npu.sram>) {
  %viewed = sram.alloc : memref<1x4x2x2xi8, #npu.sram>
  %flat = memref.reinterpret_cast %viewed to offset: [0], sizes: [1, 16], strides: [16, 1] : memref<1x4x2x2xi8, #npu.sram> to memref<1x16xi8, #npu.sram>
  %copied = sram.alloc : memref<1x4x2x2xi8, #npu.sram>
  "memref.copy"(%copied, %y) : (memref<1x4x2x2xi8, #npu.sram>, memref<1x4x2x2xi8, #npu.sram>) -> ()
  %called = sram.alloc : memref<1x4x2x2xi8, #npu.sram>
  func.call @layer(%called) : (memref<1x4x2x2xi8, #npu.sram>) -> ()
  %foreign = sram.alloc : memref<1x4x2x2xi8, #npu.sram>
  "test.op"(%foreign) : (memref<1x4x2x2xi8, #npu.sram>) -> ()
  func.return
}

// -----

// A layout that was chosen already.
// CHECK-LABEL: func.func @chosen
// CHECK: sram.alloc : memref<1x4x2x2xi8, strided<[64, 16, 2, 1]>, #npu.sram>
func.func @chosen() {
  %a = sram.alloc : memref<1x4x2x2xi8, strided<[64, 16, 2, 1]>, #npu.sram>
  npu.relu ins(%a : memref<1x4x2x2xi8, strided<[64, 16, 2, 1]>, #npu.sram>) outs(%a : memref<1x4x2x2xi8, strided<[64, 16, 2, 1]>, #npu.sram>)
  func.return
}

// -----

// A mask that no layer of bytes alone reads or writes.
// CHECK-LABEL: func.func @mask
// CHECK: sram.alloc : memref<1x4x6x5xui8, #npu.sram>
func.func @mask(%x : memref<1x4x6x5xf32, #npu.sram>, %y : memref<1x4x6x5xf32, #npu.sram>) {
  %m = sram.alloc : memref<1x4x6x5xui8, #npu.sram>
  npu.binary ins(%x, %y : memref<1x4x6x5xf32, #npu.sram>, memref<1x4x6x5xf32, #npu.sram>) outs(%m : memref<1x4x6x5xui8, #npu.sram>) with less
  npu.where ins(%m, %x, %y : memref<1x4x6x5xui8, #npu.sram>, memref<1x4x6x5xf32, #npu.sram>, memref<1x4x6x5xf32, #npu.sram>) outs(%y : memref<1x4x6x5xf32, #npu.sram>)
  func.return
}
