// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-tile-loops,npu-assign-sram-offsets | filecheck %s

// 1000 bytes, of which 200 in the middle are taken. Of the 800 free ones, 300 are in front of these, so two tiles of 400 have no
// place. So the offsets are decided here, and the tiles take no more than the gap of 500 bytes.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1000 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @around
  // CHECK-SAME: sram.arena = 500 : i64
  // CHECK: sram.alloc at 300 : memref<50xf32, #npu.sram>
  // CHECK: sram.alloc at 0 : memref<30xf32
  // CHECK: sram.alloc at 120 : memref<30xf32
  // CHECK: on_chip = 480 : i64
  func.func @around(%x: memref<300xf32, #npu.dram>, %y: memref<300xf32, #npu.dram>) {
    %a = sram.alloc at 300 : memref<50xf32, #npu.sram>
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    npu.relu ins(%x : memref<300xf32, #npu.dram>) outs(%y : memref<300xf32, #npu.dram>)
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    func.return
  }
}

// -----

// The plan takes more than 95 % of the memory, so offsets are decided here: 740 bytes are free, 420 of them side by side. Both
// buffers of a copy have no more than these.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1000 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @copied
  // CHECK-SAME: sram.arena = 980 : i64
  // CHECK: sram.alloc at 0 : memref<50xf32, #npu.sram>
  func.func @copied(%x: memref<300xf32, #npu.dram>, %y: memref<300xf32, #npu.dram>) {
    %a = sram.alloc at 300 : memref<50xf32, #npu.sram>
    %b = sram.alloc at 920 : memref<15xf32, #npu.sram>
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    npu.relu ins(%b : memref<15xf32, #npu.sram>) outs(%b : memref<15xf32, #npu.sram>)
    "memref.copy"(%x, %y) : (memref<300xf32, #npu.dram>, memref<300xf32, #npu.dram>) -> ()
    npu.relu ins(%a : memref<50xf32, #npu.sram>) outs(%a : memref<50xf32, #npu.sram>)
    npu.relu ins(%b : memref<15xf32, #npu.sram>) outs(%b : memref<15xf32, #npu.sram>)
    func.return
  }
}

// -----

// The first plan leaves two gaps of 2 bytes at the copy, each too small for an element. So one with tiles of it is made.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 100 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @between
  // CHECK-SAME: sram.arena = 100 : i64
  // CHECK: sram.alloc{{.*}}: memref<1xf32, #npu.sram>
  func.func @between(%x: memref<300xf32, #npu.dram>, %y: memref<300xf32, #npu.dram>) {
    %r = sram.alloc : memref<50xi8, #npu.sram>
    %s = sram.alloc : memref<2xi8, #npu.sram>
    %p = sram.alloc : memref<48xi8, #npu.sram>
    "test.op"(%p, %r, %s) : (memref<48xi8, #npu.sram>, memref<50xi8, #npu.sram>, memref<2xi8, #npu.sram>) -> ()
    %q = sram.alloc : memref<48xi8, #npu.sram>
    "test.op"(%q) : (memref<48xi8, #npu.sram>) -> ()
    "memref.copy"(%x, %y) : (memref<300xf32, #npu.dram>, memref<300xf32, #npu.dram>) -> ()
    "test.op"(%p, %q) : (memref<48xi8, #npu.sram>, memref<48xi8, #npu.sram>) -> ()
    func.return
  }
}
