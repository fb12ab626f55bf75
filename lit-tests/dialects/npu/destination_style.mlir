// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @windows
// GENERIC-LABEL: sym_name = "windows"
func.func @windows(%x: memref<1x4x9x9xf32, #npu.sram>, %w: memref<8x4x3x3xf32, #npu.flash>, %b: memref<8xf32, #npu.flash>, %y: memref<1x8x3x3xf32, #npu.sram>, %p: memref<1x4x4x4xf32, #npu.dram>) {
  // CHECK: npu.conv2d ins(%x, %w, %b : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>, memref<8xf32, #npu.flash>) outs(%y : memref<1x8x3x3xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2]
  // GENERIC: "npu.conv2d"(%x, %w, %b, %y) <{{{.*}}operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>, memref<8xf32, #npu.flash>, memref<1x8x3x3xf32, #npu.sram>) -> ()
  npu.conv2d ins(%x, %w, %b : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>, memref<8xf32, #npu.flash>) outs(%y : memref<1x8x3x3xf32, #npu.sram>) then relu then max_pool [2, 2] by [2, 2]
  // CHECK: npu.conv2d ins(%x, %w : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>) outs(%y : memref<1x8x3x3xf32, #npu.sram>) strides [3, 3] pads [0, 0, 0, 0] {npu.layer = "c"}
  // GENERIC: "npu.conv2d"(%x, %w, %y) <{{{.*}}operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1>}>
  npu.conv2d ins(%x, %w : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>) outs(%y : memref<1x8x3x3xf32, #npu.sram>) strides [3, 3] {npu.layer = "c"}
  // CHECK: npu.conv2d ins(%x, %w : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>) outs(%y : memref<1x8x3x3xf32, #npu.sram>) strides [3, 3] pads [0, 0, 0, 0] accumulate then relu
  // GENERIC: "npu.conv2d"(%x, %w, %y) <{{{.*}}accumulate
  npu.conv2d ins(%x, %w : memref<1x4x9x9xf32, #npu.sram>, memref<8x4x3x3xf32, #npu.flash>) outs(%y : memref<1x8x3x3xf32, #npu.sram>) strides [3, 3] accumulate then relu
  // CHECK: npu.max_pool2d ins(%x : memref<1x4x9x9xf32, #npu.sram>) outs(%p : memref<1x4x4x4xf32, #npu.dram>) kernel [2, 2] strides [2, 2]
  npu.max_pool2d ins(%x : memref<1x4x9x9xf32, #npu.sram>) outs(%p : memref<1x4x4x4xf32, #npu.dram>) kernel [2, 2] strides [2, 2]
  // CHECK: npu.avg_pool2d ins(%x : memref<1x4x9x9xf32, #npu.sram>) outs(%p : memref<1x4x4x4xf32, #npu.dram>) kernel [3, 3] strides [2, 2] count_include_pad
  npu.avg_pool2d ins(%x : memref<1x4x9x9xf32, #npu.sram>) outs(%p : memref<1x4x4x4xf32, #npu.dram>) kernel [3, 3] strides [2, 2] count_include_pad
  func.return
}

// CHECK-LABEL: func.func @others
// GENERIC-LABEL: sym_name = "others"
func.func @others(%x: memref<2x4xf32>, %v: memref<4xf32>, %m: memref<3x4xf32>, %y: memref<2x3xf32>, %z: memref<4x4xf32>, %t: memref<4x2xf32>, %f: memref<2x4x3x3xf32>, %h: memref<2x4x3x3xf32>, %g: memref<2x4x1x1xf32>) {
  // CHECK: npu.fully_connected ins(%x, %m : memref<2x4xf32>, memref<3x4xf32>) outs(%y : memref<2x3xf32>)
  npu.fully_connected ins(%x, %m : memref<2x4xf32>, memref<3x4xf32>) outs(%y : memref<2x3xf32>)
  // CHECK: npu.fully_connected ins(%x, %m : memref<2x4xf32>, memref<3x4xf32>) outs(%y : memref<2x3xf32>) accumulate then relu
  npu.fully_connected ins(%x, %m : memref<2x4xf32>, memref<3x4xf32>) outs(%y : memref<2x3xf32>) accumulate then relu
  // CHECK: npu.relu ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>)
  npu.relu ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>)
  // CHECK: npu.clamp ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>) low 0.0 high 6.0
  npu.clamp ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>) low 0.0 high 6.0
  // CHECK: npu.add ins(%x, %v : memref<2x4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>)
  npu.add ins(%x, %v : memref<2x4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>)
  // CHECK: npu.add ins(%x, %v : memref<2x4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>) then relu
  npu.add ins(%x, %v : memref<2x4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>) then relu
  // CHECK: npu.mul ins(%x, %v : memref<2x4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>)
  npu.mul ins(%x, %v : memref<2x4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>)
  // CHECK: npu.lrn ins(%f : memref<2x4x3x3xf32>) outs(%h : memref<2x4x3x3xf32>) size 3 alpha 0.5 beta 0.75 bias 2.0
  npu.lrn ins(%f : memref<2x4x3x3xf32>) outs(%h : memref<2x4x3x3xf32>) size 3 alpha 0.5 beta 0.75 bias 2.0
  // CHECK: npu.concat ins(%x, %x : memref<2x4xf32>, memref<2x4xf32>) outs(%z : memref<4x4xf32>) axis 0
  // GENERIC: "npu.concat"(%x, %x, %z) <{axis = 0 : i64, operandSegmentSizes = array<i32: 2, 1>}>
  npu.concat ins(%x, %x : memref<2x4xf32>, memref<2x4xf32>) outs(%z : memref<4x4xf32>) axis 0
  // CHECK: npu.transpose ins(%x : memref<2x4xf32>) outs(%t : memref<4x2xf32>) perm [1, 0]
  npu.transpose ins(%x : memref<2x4xf32>) outs(%t : memref<4x2xf32>) perm [1, 0]
  // CHECK: npu.softmax ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>) axis 1
  npu.softmax ins(%x : memref<2x4xf32>) outs(%x : memref<2x4xf32>) axis 1
  // CHECK: npu.batch_norm ins(%x, %v, %v, %v, %v : memref<2x4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>) epsilon 0.001
  npu.batch_norm ins(%x, %v, %v, %v, %v : memref<2x4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) outs(%x : memref<2x4xf32>) epsilon 0.001
  // CHECK: npu.global_max_pool2d ins(%f : memref<2x4x3x3xf32>) outs(%g : memref<2x4x1x1xf32>)
  npu.global_max_pool2d ins(%f : memref<2x4x3x3xf32>) outs(%g : memref<2x4x1x1xf32>)
  // CHECK: npu.global_avg_pool2d ins(%f : memref<2x4x3x3xf32>) outs(%g : memref<2x4x1x1xf32>)
  npu.global_avg_pool2d ins(%f : memref<2x4x3x3xf32>) outs(%g : memref<2x4x1x1xf32>)
  func.return
}
