// RUN: npu-opt %s --pass-pipeline='npu-split-lives,npu-slide-maps{block=4}' | filecheck %s

// The last map of the chain is a part of a concatenation that is larger than the chip: each block of
// rows is stored when it is done.
// CHECK-LABEL: func.func @part
// CHECK: %all = sram.alloc : memref<1x12x8x8xi8, #npu.sram>
// CHECK: npu.max_pool2d {{.*}} outs([[FIRST:%.*]] : memref<1x4x4x8xi8, {{.*}}) kernel [3, 3] strides [1, 1] pads [1, 1, 0, 1]
// CHECK-NEXT: [[ROWS:%.*]] = memref.subview %part[0, 0, 0, 0] [1, 4, 4, 8]
// CHECK-NEXT: "memref.copy"([[FIRST]], [[ROWS]]) {npu.layer = "pool"}
// CHECK: npu.max_pool2d {{.*}} outs([[LAST:%.*]] : memref<1x4x4x8xi8, {{.*}}) kernel [3, 3] strides [1, 1] pads [0, 1, 1, 1]
// CHECK-NEXT: [[ROWS:%.*]] = memref.subview %part[0, 0, 4, 0] [1, 4, 4, 8]
// CHECK-NEXT: "memref.copy"([[LAST]], [[ROWS]]) {npu.layer = "pool"}
// CHECK-NEXT: npu.add
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 640 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  func.func @part(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %y : memref<1x4x8x8xi8, #npu.dram> {dram.output}, %z : memref<1x12x8x8xi8, #npu.dram> {dram.output}) {
    %all = sram.alloc : memref<1x12x8x8xi8, #npu.sram>
    %part = memref.subview %all[0, 4, 0, 0] [1, 4, 8, 8] [1, 1, 1, 1] : memref<1x12x8x8xi8, #npu.sram> to memref<1x4x8x8xi8, strided<[768, 64, 8, 1], offset: 256>, #npu.sram>
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>)
    %keep = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%keep : memref<1x4x8x8xi8, #npu.sram>)
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%part : memref<1x4x8x8xi8, strided<[768, 64, 8, 1], offset: 256>, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "pool"}
    npu.add ins(%part, %keep : memref<1x4x8x8xi8, strided<[768, 64, 8, 1], offset: 256>, #npu.sram>, memref<1x4x8x8xi8, #npu.sram>) outs(%y : memref<1x4x8x8xi8, #npu.dram>)
    npu.relu ins(%all : memref<1x12x8x8xi8, #npu.sram>) outs(%z : memref<1x12x8x8xi8, #npu.dram>)
    func.return
  }
}
