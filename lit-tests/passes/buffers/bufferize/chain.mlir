// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// Parameters become read-only globals, maps on-chip buffers, the reshape a view; the last layer writes
// into the output argument.

// CHECK-LABEL: builtin.module
// CHECK-NEXT: "memref.global"() <{sym_name = "t1_w", type = memref<6x1x5x5xf32, #npu.flash>, initial_value = dense<5.000000e-01> : tensor<6x1x5x5xf32>, sym_visibility = "private", constant}>
// CHECK-NEXT: "memref.global"() <{sym_name = "f1_weight", type = memref<10x1176xf32, #npu.flash>
// CHECK-NEXT: func.func @net(%input: memref<1x1x32x32xf32, #npu.sram> {npu.name = "input", sram.input}, %out_put: memref<1x10xf32, #npu.sram> {npu.name = "out-put", sram.output}) {
// CHECK-NEXT:   %t1_w = memref.get_global @t1_w : memref<6x1x5x5xf32, #npu.flash>
// CHECK-NEXT:   %pool = sram.alloc : memref<1x6x14x14xf32, #npu.sram>
// CHECK-NEXT:   npu.conv2d ins(%input, %t1_w : memref<1x1x32x32xf32, #npu.sram>, memref<6x1x5x5xf32, #npu.flash>) outs(%pool : memref<1x6x14x14xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2] {npu.layer = "t1"}
// CHECK-NEXT:   %flat = memref.reinterpret_cast %pool to offset: [0], sizes: [1, 1176], strides: [1176, 1] {npu.layer = "r1"} : memref<1x6x14x14xf32, #npu.sram> to memref<1x1176xf32, #npu.sram>
// CHECK-NEXT:   [[W:%[0-9]+]] = memref.get_global @f1_weight
// CHECK-NEXT:   npu.fully_connected ins(%flat, [[W]] : {{.*}}) outs(%out_put : memref<1x10xf32, #npu.sram>) {npu.layer = "f1"}
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
func.func @net(%input: tensor<1x1x32x32xf32> {npu.name = "input"}) -> (tensor<1x10xf32> {npu.name = "out-put"}) {
  %t1_w = arith.constant dense<0.5> : tensor<6x1x5x5xf32>
  %pool = npu.conv2d %input, %t1_w strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2] {npu.layer = "t1"} : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>) -> tensor<1x6x14x14xf32>
  %flat = npu.reshape %pool {npu.layer = "r1"} : tensor<1x6x14x14xf32> -> tensor<1x1176xf32>
  %0 = arith.constant dense<0.25> : tensor<10x1176xf32>
  %y = npu.fully_connected %flat, %0 {npu.layer = "f1"} : (tensor<1x1176xf32>, tensor<10x1176xf32>) -> tensor<1x10xf32>
  func.return %y : tensor<1x10xf32>
}

// A name that is taken gets a number.

// CHECK-NEXT: "memref.global"() <{sym_name = "t1_w_1", type = memref<4xf32, #npu.flash>
// CHECK-LABEL: func.func @taken
// CHECK: memref.get_global @t1_w_1
func.func @taken(%x: tensor<4xf32>) -> tensor<4xf32> {
  %t1_w = arith.constant dense<1.0> : tensor<4xf32>
  %y = npu.add %x, %t1_w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
