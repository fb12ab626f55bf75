// RUN: npu-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(npu-spill-maps)' | filecheck %s

// A map leaves together with its views, whatever op makes them.

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
// CHECK-LABEL: func.func @reshaped
// CHECK-NEXT: %a = dram.alloc
// CHECK-NEXT: %b = sram.alloc
// CHECK: memref.collapse_shape %a {{.*}} : memref<1x4x16x16xi8, #npu.dram> into memref<4x16x16xi8, #npu.dram>
// CHECK: memref.expand_shape %c {{.*}} into memref<1x4x16x16xi8, #npu.dram>
// CHECK: npu.add ins(%b, %d : memref<1x4x16x16xi8, #npu.sram>, memref<1x4x16x16xi8, #npu.dram>)
func.func @reshaped(%x: memref<1x4x16x16xi8, #npu.dram> {dram.input}, %y: memref<1x4x16x16xi8, #npu.dram> {dram.output}) {
  %a = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  %b = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x16x16xi8, #npu.dram>) outs(%a : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%a : memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  %c = memref.collapse_shape %a [[0, 1], [2], [3]] : memref<1x4x16x16xi8, #npu.sram> into memref<4x16x16xi8, #npu.sram>
  %d = memref.expand_shape %c [[0, 1], [2], [3]] output_shape [1, 4, 16, 16] : memref<4x16x16xi8, #npu.sram> into memref<1x4x16x16xi8, #npu.sram>
  npu.add ins(%b, %d : memref<1x4x16x16xi8, #npu.sram>, memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%b : memref<1x4x16x16xi8, #npu.sram>) outs(%y : memref<1x4x16x16xi8, #npu.dram>)
  func.return
}
}

// -----

// A map that is also seen in another memory space stays: nobody knows what that space is. So does one
// that an unknown op takes: what it gives may be a view of it, or not. %b leaves instead.

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 1600 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
// CHECK-LABEL: func.func @other_space
// CHECK-NEXT: %a = sram.alloc
// CHECK-NEXT: %b = dram.alloc
func.func @other_space(%x: memref<1x4x16x16xi8, #npu.dram> {dram.input}, %y: memref<1x4x16x16xi8, #npu.dram> {dram.output}) {
  %a = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  %b = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x16x16xi8, #npu.dram>) outs(%a : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%a : memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  %c = "memref.memory_space_cast"(%a) : (memref<1x4x16x16xi8, #npu.sram>) -> memref<1x4x16x16xi8>
  npu.add ins(%b, %c : memref<1x4x16x16xi8, #npu.sram>, memref<1x4x16x16xi8>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%b : memref<1x4x16x16xi8, #npu.sram>) outs(%y : memref<1x4x16x16xi8, #npu.dram>)
  func.return
}
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: %a = sram.alloc
// CHECK-NEXT: %b = dram.alloc
func.func @unknown(%x: memref<1x4x16x16xi8, #npu.dram> {dram.input}, %y: memref<1x4x16x16xi8, #npu.dram> {dram.output}) {
  %a = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  %b = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x16x16xi8, #npu.dram>) outs(%a : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%a : memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  %c = "test.op"(%a) : (memref<1x4x16x16xi8, #npu.sram>) -> memref<1x4x16x16xi8, #npu.sram>
  npu.add ins(%b, %c : memref<1x4x16x16xi8, #npu.sram>, memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%b : memref<1x4x16x16xi8, #npu.sram>) outs(%y : memref<1x4x16x16xi8, #npu.dram>)
  func.return
}// So does one of which a layer reads a window without rows, all of which is padding: no transfer moves that.
// CHECK-LABEL: func.func @padding
// CHECK-NEXT: %a = sram.alloc
// CHECK-NEXT: %b = dram.alloc
func.func @padding(%x: memref<1x4x16x16xi8, #npu.dram> {dram.input}, %w: memref<1x4x1x1xi8, #npu.sram>, %y: memref<1x4x16x16xi8, #npu.dram> {dram.output}) {
  %a = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  %b = sram.alloc : memref<1x4x16x16xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x16x16xi8, #npu.dram>) outs(%a : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%a : memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  %none = memref.subview %a[0, 0, 0, 0] [1, 4, 0, 16] [1, 1, 1, 1] : memref<1x4x16x16xi8, #npu.sram> to memref<1x4x0x16xi8, strided<[1024, 256, 16, 1]>, #npu.sram>
  %row = memref.subview %b[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : memref<1x4x16x16xi8, #npu.sram> to memref<1x1x1x16xi8, strided<[1024, 256, 16, 1]>, #npu.sram>
  npu.conv2d ins(%none, %w : memref<1x4x0x16xi8, strided<[1024, 256, 16, 1]>, #npu.sram>, memref<1x4x1x1xi8, #npu.sram>) outs(%row : memref<1x1x1x16xi8, strided<[1024, 256, 16, 1]>, #npu.sram>) strides [1, 1] pads [1, 0, 0, 0]
  npu.add ins(%a, %b : memref<1x4x16x16xi8, #npu.sram>, memref<1x4x16x16xi8, #npu.sram>) outs(%b : memref<1x4x16x16xi8, #npu.sram>)
  npu.relu ins(%b : memref<1x4x16x16xi8, #npu.sram>) outs(%y : memref<1x4x16x16xi8, #npu.dram>)
  func.return
}
}
