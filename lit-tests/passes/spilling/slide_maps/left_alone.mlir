// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-slide-maps | filecheck %s

// All maps fit.
// CHECK-LABEL: func.func @fits
// CHECK-NOT: memref.subview
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @fits(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %z : memref<1x4x8x8xi8, #npu.dram> {dram.output}) {
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>)
    %b = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%b : memref<1x4x8x8xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
    npu.relu ins(%b : memref<1x4x8x8xi8, #npu.sram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>)
    func.return
  }
}

// -----

// A later layer reads the input, too.
// CHECK-LABEL: func.func @read_later
// CHECK-NOT: memref.subview
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 480 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @read_later(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %z : memref<1x4x8x8xi8, #npu.dram> {dram.output}) {
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>)
    %b = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%b : memref<1x4x8x8xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
    npu.add ins(%a, %b : memref<1x4x8x8xi8, #npu.sram>, memref<1x4x8x8xi8, #npu.sram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>)
    func.return
  }
}

// -----

// Windows with steps of two make another shape.
// CHECK-LABEL: func.func @smaller
// CHECK-NOT: memref.subview
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 300 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @smaller(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %z : memref<1x4x4x4xi8, #npu.dram> {dram.output}) {
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>)
    %b = sram.alloc : memref<1x4x4x4xi8, #npu.sram>
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%b : memref<1x4x4x4xi8, #npu.sram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%b : memref<1x4x4x4xi8, #npu.sram>) outs(%z : memref<1x4x4x4xi8, #npu.dram>)
    func.return
  }
}

// -----

// The map may have another place for its later readers, which the pass behind this one decides.
// CHECK-LABEL: func.func @moves
// CHECK-NOT: memref.subview
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 480 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @moves(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %y : memref<1x4x8x8xi8, #npu.dram> {dram.output}, %z : memref<1x4x8x8xi8, #npu.dram> {dram.output}) {
    %late = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>)
    "memref.copy"(%a, %late) {npu.moves} : (memref<1x4x8x8xi8, #npu.sram>, memref<1x4x8x8xi8, #npu.sram>) -> ()
    %b = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%b : memref<1x4x8x8xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
    npu.relu ins(%b : memref<1x4x8x8xi8, #npu.sram>) outs(%y : memref<1x4x8x8xi8, #npu.dram>)
    npu.relu ins(%late : memref<1x4x8x8xi8, #npu.sram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>)
    func.return
  }
}

// -----

// A buffer with five rows more does not fit on chip either.
// CHECK-LABEL: func.func @too_large
// CHECK-NOT: memref.subview
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 300 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @too_large(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %z : memref<1x4x8x8xi8, #npu.dram> {dram.output}) {
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>)
    %b = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%b : memref<1x4x8x8xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1]
    npu.relu ins(%b : memref<1x4x8x8xi8, #npu.sram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>)
    func.return
  }
}
