// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=208})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=208},npu-place-weights{bytes=208})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=207})' | filecheck %s --check-prefix LESS
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-place-weights{bytes=100000})' | filecheck %s --check-prefix MORE

// Reads per weight: 784 (28x28 outputs, although 14x14 are stored), 100, 3 and 1. 208 bytes hold the
// first layer (weight 200, bias 8); one byte less, and the bias stays. A second run changes nothing. What
// is read once never moves, nor does a constant that is a map.

// CHECK-LABEL: func.func @layers
// CHECK: %w1_1 = sram.alloc : memref<2x1x5x5xf32, #npu.sram>
// CHECK-NEXT: "memref.copy"(%w1, %w1_1)
// CHECK-NEXT: %b1_1 = sram.alloc : memref<2xf32, #npu.sram>
// CHECK-NEXT: "memref.copy"(%b1, %b1_1)
// CHECK-NEXT: npu.conv2d ins(%x1, %w1_1, %b1_1 :
// CHECK-NOT: memref.copy
// LESS-LABEL: func.func @layers
// LESS: npu.conv2d ins(%x1, %w1_1, %b1 :
// LESS-NOT: memref.copy
// MORE-LABEL: func.func @layers
// MORE: npu.conv2d ins(%x1, %w1_1, %b1_1 :
// MORE: npu.conv2d ins(%x2, %w2_1 :
// MORE: npu.fully_connected ins(%x3, %w3_1 :
// MORE-NOT: memref.copy
// MORE: npu.fully_connected ins(%x4, %w4 :
"memref.global"() <{sym_name = "w1", sym_visibility = "private", type = memref<2x1x5x5xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2x1x5x5xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "b1", sym_visibility = "private", type = memref<2xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w2", sym_visibility = "private", type = memref<4x2x5x5xf32, #npu.flash>, initial_value = dense<0.5> : tensor<4x2x5x5xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w3", sym_visibility = "private", type = memref<2x8xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2x8xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "w4", sym_visibility = "private", type = memref<2x8xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2x8xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "c", sym_visibility = "private", type = memref<1x2xf32, #npu.flash>, initial_value = dense<0.5> : tensor<1x2xf32>, constant}> : () -> ()
func.func @layers(%x1: memref<1x1x32x32xf32, #npu.sram>, %y1: memref<1x2x14x14xf32, #npu.sram>, %x2: memref<1x2x14x14xf32, #npu.sram>, %y2: memref<1x4x10x10xf32, #npu.sram>, %x3: memref<3x8xf32, #npu.sram>, %y3: memref<3x2xf32, #npu.sram>, %x4: memref<1x8xf32, #npu.sram>, %y4: memref<1x2xf32, #npu.sram>) {
  %w4 = memref.get_global @w4 : memref<2x8xf32, #npu.flash>
  %w3 = memref.get_global @w3 : memref<2x8xf32, #npu.flash>
  %w2 = memref.get_global @w2 : memref<4x2x5x5xf32, #npu.flash>
  %b1 = memref.get_global @b1 : memref<2xf32, #npu.flash>
  %w1 = memref.get_global @w1 : memref<2x1x5x5xf32, #npu.flash>
  %c = memref.get_global @c : memref<1x2xf32, #npu.flash>
  npu.conv2d ins(%x1, %w1, %b1 : memref<1x1x32x32xf32, #npu.sram>, memref<2x1x5x5xf32, #npu.flash>, memref<2xf32, #npu.flash>) outs(%y1 : memref<1x2x14x14xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2]
  npu.conv2d ins(%x2, %w2 : memref<1x2x14x14xf32, #npu.sram>, memref<4x2x5x5xf32, #npu.flash>) outs(%y2 : memref<1x4x10x10xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0]
  npu.fully_connected ins(%x3, %w3 : memref<3x8xf32, #npu.sram>, memref<2x8xf32, #npu.flash>) outs(%y3 : memref<3x2xf32, #npu.sram>)
  npu.fully_connected ins(%x4, %w4 : memref<1x8xf32, #npu.sram>, memref<2x8xf32, #npu.flash>) outs(%y4 : memref<1x2xf32, #npu.sram>)
  npu.add ins(%y4, %c : memref<1x2xf32, #npu.sram>, memref<1x2xf32, #npu.flash>) outs(%y4 : memref<1x2xf32, #npu.sram>)
  func.return
}
