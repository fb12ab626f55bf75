// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

// Windows of nine taps, and equal scales: no sum is next to a tie. So eight channels add up integers, the zero point of nine taps taken off
// first, and one product is the average. Two more channels are words.
// CHECK-LABEL: func.func @integers(
// CHECK:         [[LESS:%[a-z0-9_]+]] = arith.constant -27 : i32
// CHECK:         [[START:%[a-z0-9_]+]] = mve.splat [[LESS]] : i32 -> vector<8xi16>
// CHECK:         scf.for %oy
// CHECK:           scf.for %ox
// CHECK:             mve.load %x{{.*}} : memref<250xi8, #npu.sram> -> vector<8xi16>
// CHECK-NEXT:        mve.add [[START]],
// CHECK-COUNT-8:     mve.add {{.*}} : vector<8xi16>
// CHECK-NEXT:        mve.widen %{{.*}} bottom
// CHECK-NEXT:        mve.widen %{{.*}} top
// CHECK-NEXT:        mve.to_float
// CHECK-NEXT:        mve.mul_scalar
// CHECK-NEXT:        mve.to_float
// CHECK-NEXT:        mve.mul_scalar
// CHECK:             mve.low_halves
// CHECK:             mve.store %{{.*}}, %y{{.*}} saturated : vector<8xi16>, memref<90xi8, #npu.sram>
// CHECK:             mve.load %x{{.*}} first 2 : memref<250xi8, #npu.sram> -> vector<4xi32>
// CHECK-COUNT-9:     mve.add {{.*}} : vector<4xi32>
// CHECK-NEXT:        mve.to_float
// CHECK-NEXT:        mve.mul_scalar
// CHECK-NEXT:        mve.round
// CHECK:             mve.store %{{.*}}, %y{{.*}} first 2 : vector<4xi32>, memref<90xi8, #npu.sram>
// CHECK-NOT:     mve.fma_scalar
// CHECK:         func.return
func.func @integers(%x: memref<1x10x5x5xi8, strided<[250, 1, 50, 10]>, #npu.sram>, %y: memref<1x10x3x3xi8, strided<[90, 1, 30, 10]>, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%x : memref<1x10x5x5xi8, strided<[250, 1, 50, 10]>, #npu.sram>) outs(%y : memref<1x10x3x3xi8, strided<[90, 1, 30, 10]>, #npu.sram>) kernel [3, 3] strides [1, 1] scales [0.1, 0.1] zero_points [3, 3] mode float
  func.return
}

// Windows that padding cuts divide by six or four, and a sixth may be next to a tie: they add up real numbers, column by column, and divide
// by a number from a table. One in the middle divides by nine.
// CHECK:         memref<7xf32, #npu.flash>, initial_value = dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 2.500000e-01, 0.000000e+00, 0.166666672]>
// CHECK-LABEL: func.func @both(
// CHECK:         scf.if
// CHECK:           [[LEFT:%[a-z0-9_]+]] = scf.for %k = {{.*}} -> (vector<4xf32>)
// CHECK:             mve.add {{.*}} : vector<4xf32>
// CHECK:           [[RIGHT:%[a-z0-9_]+]] = scf.for %k{{.*}} -> (vector<4xf32>)
// CHECK:           mve.add [[LEFT]], [[RIGHT]] : vector<4xf32>
// CHECK-COUNT-8:   mve.fma_scalar
// CHECK:           mve.store %{{.*}}, %v{{.*}} : vector<4xi32>, memref<36xi8, #npu.sram>
// CHECK:           mve.load %u{{.*}} : memref<36xi8, #npu.sram> -> vector<4xi32>
// CHECK-NEXT:      mve.add %{{.*}} : vector<4xi32>
func.func @both(%u: memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>, %v: memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%u : memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>) outs(%v : memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>) kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] scales [0.1, 0.1] zero_points [3, 3] mode float
  func.return
}

// Mode qlinear adds up row by row: one sum after the other. It adds the zero point before it rounds.
// CHECK-LABEL: func.func @rows(
// CHECK-COUNT-4:     mve.load
// CHECK-NOT:         mve.load
// CHECK-COUNT-4:     mve.fma_scalar
// CHECK-NEXT:        mve.add_scalar %{{.*}} : vector<4xf32>, f32
// CHECK-NEXT:        mve.round
func.func @rows(%u: memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>, %v: memref<1x4x2x2xi8, strided<[16, 1, 8, 4]>, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%u : memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>) outs(%v : memref<1x4x2x2xi8, strided<[16, 1, 8, 4]>, #npu.sram>) kernel [2, 2] strides [1, 1] scales [0.1, 0.1] zero_points [3, 5] mode qlinear
  func.return
}

// Maps in planes, halves and modes of fixed point have the general loops.
// CHECK-LABEL: func.func @general(
// CHECK-NOT:     mve
// CHECK:         func.return
func.func @general(%x: memref<1x6x3x3xi8, #npu.sram>, %y: memref<1x6x2x2xi8, #npu.sram>, %u: memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>, %v: memref<1x4x2x2xi8, strided<[16, 1, 8, 4]>, #npu.sram>, %h: memref<1x4x3x3xi16, strided<[36, 1, 12, 4]>, #npu.sram>, %k: memref<1x4x2x2xi16, strided<[16, 1, 8, 4]>, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%x : memref<1x6x3x3xi8, #npu.sram>) outs(%y : memref<1x6x2x2xi8, #npu.sram>) kernel [2, 2] strides [1, 1] scales [0.1, 0.3] zero_points [3, 5] mode float
  npu.quantized_avg_pool2d ins(%u : memref<1x4x3x3xi8, strided<[36, 1, 12, 4]>, #npu.sram>) outs(%v : memref<1x4x2x2xi8, strided<[16, 1, 8, 4]>, #npu.sram>) kernel [2, 2] strides [1, 1] scales [0.1, 0.3] zero_points [3, 5] mode fixed
  npu.quantized_avg_pool2d ins(%h : memref<1x4x3x3xi16, strided<[36, 1, 12, 4]>, #npu.sram>) outs(%k : memref<1x4x2x2xi16, strided<[16, 1, 8, 4]>, #npu.sram>) kernel [2, 2] strides [1, 1] scales [0.1, 0.3] zero_points [0, 0] mode float
  func.return
}
