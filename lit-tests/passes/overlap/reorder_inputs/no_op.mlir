// RUN: npu-opt %s --split-input-file -p npu-reorder-inputs | filecheck %s

// Two other maps are the peak.
// CHECK-LABEL: func.func @below_the_peak
// CHECK-NOT:   kept
func.func @below_the_peak(%x: memref<1x2x3x8xi8, #npu.sram> {sram.input}, %y: memref<1x2x3x8xi8, #npu.sram> {sram.output}) {
  %a = sram.alloc : memref<1x2x3x8xi8, #npu.sram>
  %b = sram.alloc : memref<1x4x3x8xi8, #npu.sram>
  npu.max_pool2d ins(%x : memref<1x2x3x8xi8, #npu.sram>) outs(%a : memref<1x2x3x8xi8, #npu.sram>) kernel [1, 1] strides [1, 1] pads [0, 0, 0, 0]
  "test.op"(%a, %b) : (memref<1x2x3x8xi8, #npu.sram>, memref<1x4x3x8xi8, #npu.sram>) -> ()
  "test.op"(%b, %y) : (memref<1x4x3x8xi8, #npu.sram>, memref<1x2x3x8xi8, #npu.sram>) -> ()
  func.return
}

// -----

// One channel, a batch, and a map that a softmax reads.
// CHECK-LABEL: func.func @channel
// CHECK-NOT:   kept
// CHECK-LABEL: func.func @batch
// CHECK-NOT:   kept
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:   kept
func.func @channel(%x: memref<1x1x3x8xi8, #npu.sram> {sram.input}, %y: memref<1x1x3x8xi8, #npu.sram> {sram.output}) {
  npu.max_pool2d ins(%x : memref<1x1x3x8xi8, #npu.sram>) outs(%y : memref<1x1x3x8xi8, #npu.sram>) kernel [1, 1] strides [1, 1] pads [0, 0, 0, 0]
  func.return
}
func.func @batch(%x: memref<2x2x3x8xi8, #npu.sram> {sram.input}, %y: memref<2x2x3x8xi8, #npu.sram> {sram.output}) {
  npu.max_pool2d ins(%x : memref<2x2x3x8xi8, #npu.sram>) outs(%y : memref<2x2x3x8xi8, #npu.sram>) kernel [1, 1] strides [1, 1] pads [0, 0, 0, 0]
  func.return
}
func.func @softmax(%x: memref<1x2x3x8xf32, #npu.sram> {sram.input}, %y: memref<1x2x3x8xf32, #npu.sram> {sram.output}) {
  npu.softmax ins(%x : memref<1x2x3x8xf32, #npu.sram>) outs(%y : memref<1x2x3x8xf32, #npu.sram>) axis 1
  func.return
}
