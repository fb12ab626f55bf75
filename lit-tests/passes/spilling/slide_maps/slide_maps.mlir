// RUN: npu-opt %s --pass-pipeline='npu-slide-maps{block=2}' | filecheck %s

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 704 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // Two layers share one buffer: 3 rows more, for 2 rows of a block and 1 that a window reaches. The
  // first layer writes upwards, the second one downwards. Kernels are copied on chip once. The map that
  // is read before the first layer is read where it lies.
  // CHECK-LABEL: func.func @chain
  // CHECK: %a = sram.alloc : memref<1x4x11x8xi8, #npu.sram>
  // CHECK-NEXT: [[UP:%.*]] = memref.subview %a[0, 0, 0, 0] [1, 4, 8, 8]
  // CHECK-NEXT: [[DOWN:%.*]] = memref.subview %a[0, 0, 3, 0] [1, 4, 8, 8]
  // CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs([[DOWN]] :
  // CHECK: [[KERNEL:%.*]] = sram.alloc : memref<4x1x3x3xi8, #npu.sram>
  // CHECK-NEXT: "memref.copy"(%w, [[KERNEL]]) {npu.layer = "first"}
  // CHECK-NEXT: [[IN:%.*]] = memref.subview [[DOWN]][0, 0, 0, 0] [1, 4, 3, 8]
  // CHECK-NEXT: [[OUT:%.*]] = memref.subview [[UP]][0, 0, 0, 0] [1, 4, 2, 8]
  // CHECK-NEXT: npu.conv2d ins([[IN]], [[KERNEL]] : {{.*}}) outs([[OUT]] : {{.*}} pads [1, 1, 0, 1] groups 4
  // CHECK-NEXT: [[IN:%.*]] = memref.subview [[DOWN]][0, 0, 1, 0] [1, 4, 4, 8]
  // CHECK-NEXT: [[OUT:%.*]] = memref.subview [[UP]][0, 0, 2, 0] [1, 4, 2, 8]
  // CHECK-NEXT: npu.conv2d ins([[IN]], [[KERNEL]] : {{.*}}) outs([[OUT]] : {{.*}} pads [0, 1, 0, 1] groups 4
  // CHECK: [[OUT:%.*]] = memref.subview [[UP]][0, 0, 6, 0] [1, 4, 2, 8]
  // CHECK-NEXT: npu.conv2d {{.*}} outs([[OUT]] : {{.*}} pads [0, 1, 1, 1] groups 4
  // CHECK-NEXT: [[IN:%.*]] = memref.subview [[UP]][0, 0, 5, 0] [1, 4, 3, 8]
  // CHECK-NEXT: [[OUT:%.*]] = memref.subview [[DOWN]][0, 0, 6, 0] [1, 4, 2, 8]
  // CHECK-NEXT: npu.max_pool2d ins([[IN]] : {{.*}}) outs([[OUT]] : {{.*}} pads [0, 1, 1, 1]
  // CHECK: npu.add ins([[DOWN]], %keep
  func.func @chain(%x : memref<1x4x8x8xi8, #npu.dram> {dram.input}, %z : memref<1x4x8x8xi8, #npu.dram> {dram.output}, %w : memref<4x1x3x3xi8, #npu.dram> {dram.input}) {
    %a = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.relu ins(%x : memref<1x4x8x8xi8, #npu.dram>) outs(%a : memref<1x4x8x8xi8, #npu.sram>) {npu.layer = "zero"}
    %keep = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.max_pool2d ins(%a : memref<1x4x8x8xi8, #npu.sram>) outs(%keep : memref<1x4x8x8xi8, #npu.sram>) kernel [1, 1] strides [1, 1] {npu.layer = "kept"}
    %b = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%a, %w : memref<1x4x8x8xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.dram>) outs(%b : memref<1x4x8x8xi8, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "first"}
    %c = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.max_pool2d ins(%b : memref<1x4x8x8xi8, #npu.sram>) outs(%c : memref<1x4x8x8xi8, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {npu.layer = "second"}
    npu.add ins(%c, %keep : memref<1x4x8x8xi8, #npu.sram>, memref<1x4x8x8xi8, #npu.sram>) outs(%z : memref<1x4x8x8xi8, #npu.dram>) {npu.layer = "third"}
    func.return
  }
}
