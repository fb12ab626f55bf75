// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-spill-maps)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-spill-maps{sram-bytes=100000})' | filecheck %s --check-prefix=ROOM
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-spill-maps{maps="a.out","s" sram-bytes=100000})' | filecheck %s --check-prefix=HAND

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {

// Two peaks, 2048 + 2560 and 2560 + 2048 bytes: the map between them costs less than both others, although
// it is the largest. It is written once and read once, in its own shape and layout.
// CHECK-LABEL: func.func @peaks
// CHECK-SAME: attributes {npu.spilled_bytes = 4608 : i64}
// CHECK-NEXT: %a = sram.alloc : memref<1x8x8x8xf32, #npu.sram>
// CHECK: %b = dram.alloc : memref<1x9x8x8xf32, #npu.dram>
// CHECK-NEXT: npu.conv2d ins(%a, %w {{.*}} outs(%b : memref<1x9x8x8xf32, #npu.dram>)
// CHECK-NEXT: %c = sram.alloc : memref<1x8x8x8xf32, #npu.sram>
// CHECK-NEXT: npu.conv2d ins(%b, %v : memref<1x9x8x8xf32, #npu.dram>, {{.*}} outs(%c

// With more memory all stays, and the text is as before.
// ROOM-LABEL: func.func @peaks
// ROOM-NOT: {{dram.alloc|npu.spilled_bytes}}
// ROOM: func.func @slices
// ROOM-NOT: {{dram.alloc|npu.spilled_bytes}}
// ROOM: func.return

// By hand: %a is written once and read once.
// HAND-LABEL: func.func @peaks
// HAND-SAME: npu.spilled_bytes = 4096
// HAND-NEXT: %a = dram.alloc
// HAND: %b = sram.alloc
// HAND: %c = sram.alloc
func.func @peaks(%x: memref<1x8x8x8xf32, #npu.dram> {dram.input}, %w: memref<9x8x1x1xf32, #npu.sram>, %v: memref<8x9x1x1xf32, #npu.sram>, %y: memref<1x8x8x8xf32, #npu.dram> {dram.output}) {
  %a = sram.alloc : memref<1x8x8x8xf32, #npu.sram>
  npu.transpose ins(%x : memref<1x8x8x8xf32, #npu.dram>) outs(%a : memref<1x8x8x8xf32, #npu.sram>) perm [0, 1, 3, 2] {npu.layer = "a", npu.value = "a.out"}
  %b = sram.alloc : memref<1x9x8x8xf32, strided<[640, 64, 8, 1]>, #npu.sram>
  npu.conv2d ins(%a, %w : memref<1x8x8x8xf32, #npu.sram>, memref<9x8x1x1xf32, #npu.sram>) outs(%b : memref<1x9x8x8xf32, strided<[640, 64, 8, 1]>, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "b", npu.value = "b.out"}
  %c = sram.alloc : memref<1x8x8x8xf32, #npu.sram>
  npu.conv2d ins(%b, %v : memref<1x9x8x8xf32, strided<[640, 64, 8, 1]>, #npu.sram>, memref<8x9x1x1xf32, #npu.sram>) outs(%c : memref<1x8x8x8xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "c", npu.value = "c.out"}
  npu.transpose ins(%c : memref<1x8x8x8xf32, #npu.sram>) outs(%y : memref<1x8x8x8xf32, #npu.dram>) perm [0, 1, 3, 2] {npu.layer = "d"}
  func.return
}

// A concatenation in place is one buffer, with views of views, and leaves as a whole: both slices are
// written, 2048 bytes each, the relu in place reads and writes its slice, and the whole is read.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: npu.spilled_bytes = 12288
// CHECK: %y = dram.alloc : memref<1x16x8x8xf32, #npu.dram>
// CHECK-NEXT: %p = memref.subview %y[0, 0, 0, 0] [1, 8, 8, 8] [1, 1, 1, 1] : memref<1x16x8x8xf32, #npu.dram> to memref<1x8x8x8xf32, strided<[1024, 64, 8, 1]>, #npu.dram>
// CHECK: outs(%p : memref<1x8x8x8xf32, strided<[1024, 64, 8, 1]>, #npu.dram>)
// CHECK: memref.subview %y[0, 8, 0, 0] {{.*}} to memref<1x8x8x8xf32, strided<[1024, 64, 8, 1], offset: 512>, #npu.dram>
// CHECK: %flat = memref.reinterpret_cast %y {{.*}} to memref<1x1024xf32, #npu.dram>
// HAND-LABEL: func.func @slices
// HAND-SAME: npu.spilled_bytes = 12288
func.func @slices(%x: memref<1x8x8x8xf32, #npu.dram> {dram.input}, %o: memref<1x1024xf32, #npu.dram> {dram.output}) {
  %y = sram.alloc : memref<1x16x8x8xf32, #npu.sram>
  %p = memref.subview %y[0, 0, 0, 0] [1, 8, 8, 8] [1, 1, 1, 1] : memref<1x16x8x8xf32, #npu.sram> to memref<1x8x8x8xf32, strided<[1024, 64, 8, 1]>, #npu.sram>
  npu.transpose ins(%x : memref<1x8x8x8xf32, #npu.dram>) outs(%p : memref<1x8x8x8xf32, strided<[1024, 64, 8, 1]>, #npu.sram>) perm [0, 1, 3, 2] {npu.value = "p"}
  %q = memref.subview %y[0, 8, 0, 0] [1, 8, 8, 8] [1, 1, 1, 1] : memref<1x16x8x8xf32, #npu.sram> to memref<1x8x8x8xf32, strided<[1024, 64, 8, 1], offset: 512>, #npu.sram>
  npu.transpose ins(%x : memref<1x8x8x8xf32, #npu.dram>) outs(%q : memref<1x8x8x8xf32, strided<[1024, 64, 8, 1], offset: 512>, #npu.sram>) perm [0, 1, 3, 2] {npu.value = "q"}
  npu.relu ins(%q : memref<1x8x8x8xf32, strided<[1024, 64, 8, 1], offset: 512>, #npu.sram>) outs(%q : memref<1x8x8x8xf32, strided<[1024, 64, 8, 1], offset: 512>, #npu.sram>) {npu.value = "s"}
  %flat = memref.reinterpret_cast %y to offset: [0], sizes: [1, 1024], strides: [1024, 1] : memref<1x16x8x8xf32, #npu.sram> to memref<1x1024xf32, #npu.sram>
  npu.relu ins(%flat : memref<1x1024xf32, #npu.sram>) outs(%o : memref<1x1024xf32, #npu.dram>) {npu.value = "o"}
  func.return
}

}
