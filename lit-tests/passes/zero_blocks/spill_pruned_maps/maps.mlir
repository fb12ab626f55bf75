// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-spill-pruned-maps' | filecheck %s

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
// What has been computed stays on the chip until it is pruned; readers and views fetch it.

// CHECK-LABEL: func.func @pruned
func.func @pruned() {
  // CHECK: %a = sram.alloc
  // CHECK-NEXT: npu.relu ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a :
  // CHECK-NEXT: %a_1 = dram.alloc : memref<1x2x8x8xf32, #npu.dram>
  // CHECK-NEXT: npu.prune_zero_blocks ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a_1 : memref<1x2x8x8xf32, #npu.dram>) block 4
  %a = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.relu ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>)
  npu.prune_zero_blocks ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  // CHECK: memref.reinterpret_cast %a_1 {{.*}} to memref<128xf32, #npu.dram>
  %flat = memref.reinterpret_cast %a to offset: [0], sizes: [128], strides: [1] : memref<1x2x8x8xf32, #npu.sram> to memref<128xf32, #npu.sram>
  // CHECK: npu.relu ins(%a_1 : memref<1x2x8x8xf32, #npu.dram>) outs(%b :
  %b = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.relu ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%b : memref<1x2x8x8xf32, #npu.sram>)
  // CHECK: npu.softmax ins({{.*}} : memref<128xf32, #npu.dram>)
  %c = sram.alloc : memref<128xf32, #npu.sram>
  npu.softmax ins(%flat : memref<128xf32, #npu.sram>) outs(%c : memref<128xf32, #npu.sram>) axis 0
  func.return
}

// Written again; never read; looked at before; pruned into another buffer; an argument's.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: dram.alloc
func.func @left_alone(%e: memref<1x2x8x8xf32, #npu.sram>) {
  %a = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.prune_zero_blocks ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  npu.relu ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>)
  %b = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.prune_zero_blocks ins(%b : memref<1x2x8x8xf32, #npu.sram>) outs(%b : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  %c = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  %view = memref.reinterpret_cast %c to offset: [0], sizes: [128], strides: [1] : memref<1x2x8x8xf32, #npu.sram> to memref<128xf32, #npu.sram>
  npu.prune_zero_blocks ins(%c : memref<1x2x8x8xf32, #npu.sram>) outs(%c : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  %d = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.prune_zero_blocks ins(%c : memref<1x2x8x8xf32, #npu.sram>) outs(%d : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  npu.relu ins(%d : memref<1x2x8x8xf32, #npu.sram>) outs(%e : memref<1x2x8x8xf32, #npu.sram>)
  npu.prune_zero_blocks ins(%e : memref<1x2x8x8xf32, #npu.sram>) outs(%e : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  npu.relu ins(%e : memref<1x2x8x8xf32, #npu.sram>) outs(%d : memref<1x2x8x8xf32, #npu.sram>)
  func.return
}

// A view through which somebody writes is a write.

// CHECK-LABEL: func.func @written_through_a_view
// CHECK-NOT: dram.alloc
func.func @written_through_a_view() {
  %a = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.prune_zero_blocks ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  %view = memref.reinterpret_cast %a to offset: [0], sizes: [128], strides: [1] : memref<1x2x8x8xf32, #npu.sram> to memref<128xf32, #npu.sram>
  npu.relu ins(%view : memref<128xf32, #npu.sram>) outs(%view : memref<128xf32, #npu.sram>)
  func.return
}
}

// -----

builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 64 : i64, flash_bytes = 0 : i64}>} {
// Without DMA there is nowhere to go.

// CHECK-LABEL: func.func @no_dma
// CHECK-NOT: dram.alloc
func.func @no_dma() {
  %a = sram.alloc : memref<1x2x8x8xf32, #npu.sram>
  npu.prune_zero_blocks ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>) block 4 threshold 0.1
  npu.relu ins(%a : memref<1x2x8x8xf32, #npu.sram>) outs(%a : memref<1x2x8x8xf32, #npu.sram>)
  func.return
}
}
