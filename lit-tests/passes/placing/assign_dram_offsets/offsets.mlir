// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-dram-offsets)' | filecheck %s

// %a and %b live together; %c takes the place of %a, which its last transfer has left, behind the
// wait for that. A row of %b is stored as 16 elements.

// CHECK-LABEL: func.func @maps
// CHECK-SAME:  attributes {dram.bytes = 1544 : i64}
func.func @maps(%x: memref<100xf32, #npu.dram> {dram.input}, %tile: memref<100xf32, #npu.sram>, %rows: memref<16x9xf32, #npu.sram>) {
  // CHECK: %a = dram.alloc at [[A:[0-9]+]] : memref<100xf32, #npu.dram>
  %a = dram.alloc : memref<100xf32, #npu.dram>
  // CHECK: %b = dram.alloc at 0 : memref<16x9xf32, strided<[16, 1]>, #npu.dram>
  %b = dram.alloc : memref<16x9xf32, strided<[16, 1]>, #npu.dram>
  %t = dma.start %a to %tile channel 0 : memref<100xf32, #npu.dram> to memref<100xf32, #npu.sram>
  %u = dma.start %rows to %b channel 0 : memref<16x9xf32, #npu.sram> to memref<16x9xf32, strided<[16, 1]>, #npu.dram>
  dma.wait %t
  // CHECK: %c = dram.alloc at [[A]] : memref<130xf32, #npu.dram>
  %c = dram.alloc : memref<130xf32, #npu.dram>
  dma.wait %u
  "test.op"(%c, %b) : (memref<130xf32, #npu.dram>, memref<16x9xf32, strided<[16, 1]>, #npu.dram>) -> ()
  func.return
}

// While a transfer runs, its source is in use.

// CHECK-LABEL: func.func @in_use
// CHECK-SAME:  attributes {dram.bytes = 32 : i64}
func.func @in_use(%tile: memref<4xf32, #npu.sram>) {
  %a = dram.alloc : memref<4xf32, #npu.dram>
  %t = dma.start %a to %tile channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  %b = dram.alloc : memref<4xf32, #npu.dram>
  "test.op"(%b) : (memref<4xf32, #npu.dram>) -> ()
  dma.wait %t
  func.return
}

// A place that somebody chose stays.

// CHECK-LABEL: func.func @pinned
// CHECK-SAME:  attributes {dram.bytes = 80 : i64}
func.func @pinned() {
  // CHECK: dram.alloc at 64
  %a = dram.alloc at 64 : memref<4xf32, #npu.dram>
  func.return
}

// CHECK-LABEL: func.func @arguments
// CHECK-SAME:  attributes {dram.bytes = 0 : i64}
func.func @arguments(%x: memref<4xf32, #npu.dram> {dram.input}) {
  func.return
}

// CHECK-LABEL: func.func @transfers
// CHECK-SAME:  attributes {dram.bytes = 0 : i64}
func.func @transfers(%tile: memref<4xf32, #npu.sram>) {
  %w = memref.get_global @w : memref<4xf32, #npu.dram>
  %t = dma.start weights %w to %tile channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  dma.wait %t
  func.return
}

// Nothing lies off the chip, or the caller owns the block.

// CHECK-LABEL: func.func @on_chip
// CHECK-NOT: dram.bytes
func.func @on_chip(%x: memref<4xf32, #npu.sram>) {
  func.return
}
func.func private @inner(%x: memref<4xf32, #npu.dram>) {
  func.return
}
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4xf32, #npu.dram>, initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()
