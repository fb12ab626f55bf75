// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-mark-work | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-mark-work,npu-mark-work' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-mark-work{misfit=leave}' | filecheck %s

// A layer, a copy on chip and a nest of stores get their cycles, once; a transfer has its own.
// The mark from before is replaced.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @marks
  // CHECK-NOT: dma.work
  // CHECK: dma.wait
  // CHECK-NEXT: dma.work 2
  // CHECK-NEXT: npu.relu
  // CHECK-NEXT: dma.work 4
  // CHECK-NEXT: memref.copy
  // CHECK-NEXT: dma.work 1
  // CHECK-NEXT: scf.for
  // CHECK-NOT: dma.work
  // CHECK: func.return
  func.func @marks(%x : memref<32xf32, #npu.dram>) {
    dma.work 77
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %a = sram.alloc : memref<32xf32, #npu.sram>
    %b = sram.alloc : memref<32xf32, #npu.sram>
    %t = dma.start %x to %a channel 0 : memref<32xf32, #npu.dram> to memref<32xf32, #npu.sram>
    %low = memref.subview %a[0] [16] [1] : memref<32xf32, #npu.sram> to memref<16xf32, strided<[1]>, #npu.sram>
    dma.wait %t
    npu.relu ins(%low : memref<16xf32, strided<[1]>, #npu.sram>) outs(%low : memref<16xf32, strided<[1]>, #npu.sram>)
    "memref.copy"(%a, %b) : (memref<32xf32, #npu.sram>, memref<32xf32, #npu.sram>) -> ()
    scf.for %i = %c0 to %c16 step %c1 {
      memref.store %zero, %b[%i] : memref<32xf32, #npu.sram>
    }
    func.return
  }
}

// -----

// A function that is called has the marks.
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  // CHECK-LABEL: func.func @main
  // CHECK-NEXT: func.call @layer
  // CHECK-NEXT: func.call @layer
  func.func @main(%a : memref<16xf32, #npu.sram>) {
    func.call @layer(%a) : (memref<16xf32, #npu.sram>) -> ()
    func.call @layer(%a) : (memref<16xf32, #npu.sram>) -> ()
    func.return
  }
  // CHECK-LABEL: func.func private @layer
  // CHECK-NEXT: dma.work 2
  // CHECK-NEXT: npu.relu
  func.func private @layer(%a : memref<16xf32, #npu.sram>) {
    npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
    func.return
  }
}
