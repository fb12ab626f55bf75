// RUN: npu-opt %s --allow-unregistered-dialect --split-input-file --pass-pipeline=npu-prefetch | filecheck %s

// Both buffers do not fit at the same time.
// CHECK-LABEL: func.func @no_room
// CHECK: npu.relu {{.*}}"first"
// CHECK: [[T:%.*]] = dma.start
// CHECK-NEXT: dma.wait [[T]]
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 96 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @no_room(%map : memref<1x64xi8, #npu.dram>) attributes {sram.arena = 96 : i64} {
    %a = sram.alloc at 0 : memref<1x64xi8, #npu.sram>
    %b = sram.alloc at 0 : memref<1x64xi8, #npu.sram>
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    %0 = dma.start %map to %b channel 1 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%b : memref<1x64xi8, #npu.sram>) outs(%b : memref<1x64xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}

// -----

// The layer in front still reads the buffer that the transfer fills.
// CHECK-LABEL: func.func @in_use
// CHECK: npu.relu {{.*}}"first"
// CHECK: [[T:%.*]] = dma.start
// CHECK-NEXT: dma.wait [[T]]
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @in_use(%map : memref<1x64xi8, #npu.dram>) attributes {sram.arena = 128 : i64} {
    %a = sram.alloc at 0 : memref<1x64xi8, #npu.sram>
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    %0 = dma.start %map to %a channel 1 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}

// -----

// Nobody knows what an op of another dialect touches; and a call may touch what it is not given.
// CHECK-LABEL: func.func @unknown
// CHECK: npu.relu {{.*}}"first"
// CHECK: "other.op"
// CHECK: [[T:%.*]] = dma.start
// CHECK: npu.relu {{.*}}"second"
// CHECK: func.call @f
// CHECK-NEXT: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func private @f() -> ()
  func.func @unknown(%map : memref<1x64xi8, #npu.dram>, %other : memref<1x64xi8, #npu.dram>) attributes {sram.arena = 192 : i64} {
    %a = sram.alloc at 0 : memref<1x64xi8, #npu.sram>
    %b = sram.alloc at 64 : memref<1x64xi8, #npu.sram>
    %c = sram.alloc at 128 : memref<1x64xi8, #npu.sram>
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    "other.op"() : () -> ()
    %0 = dma.start %map to %b channel 1 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%b : memref<1x64xi8, #npu.sram>) outs(%b : memref<1x64xi8, #npu.sram>) {npu.layer = "second"}
    func.call @f() : () -> ()
    %1 = dma.start %other to %c channel 1 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %1
    npu.relu ins(%c : memref<1x64xi8, #npu.sram>) outs(%c : memref<1x64xi8, #npu.sram>) {npu.layer = "third"}
    func.return
  }
}

// -----

// Without offsets, or without a machine, nothing moves.
// CHECK-LABEL: func.func @no_offsets
// CHECK: npu.relu {{.*}}"first"
// CHECK: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @no_offsets(%map : memref<1x64xi8, #npu.dram>) {
    %a = sram.alloc : memref<1x64xi8, #npu.sram>
    %b = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    %0 = dma.start %map to %b channel 1 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%b : memref<1x64xi8, #npu.sram>) outs(%b : memref<1x64xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}

// -----

// With several blocks, the order of the text does not say when a buffer lives: %b is in use in ^next.
// CHECK-LABEL: func.func @branches
// CHECK: npu.relu {{.*}}"first"
// CHECK: dma.start
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @branches(%map : memref<1x64xi8, #npu.dram>) attributes {sram.arena = 128 : i64} {
    %a = sram.alloc at 0 : memref<1x64xi8, #npu.sram>
    %b = sram.alloc at 64 : memref<1x64xi8, #npu.sram>
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    %0 = dma.start %map to %b channel 1 : memref<1x64xi8, #npu.dram> to memref<1x64xi8, #npu.sram>
    dma.wait %0
    "cf.br"()[^next] : () -> ()
  ^next:
    npu.relu ins(%b : memref<1x64xi8, #npu.sram>) outs(%b : memref<1x64xi8, #npu.sram>) {npu.layer = "second"}
    func.return
  }
}
