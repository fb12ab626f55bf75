// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

// Four channels of nine pixels: four sums in turn, and the last pixel. Their number is not a power of two, and neither is the scale:
// two corrections make each quotient that of a division. Then two channels more.
// CHECK-LABEL: func.func @average(
// CHECK:         [[A:%[a-z0-9_]+]], [[B:%[a-z0-9_]+]], [[C:%[a-z0-9_]+]], [[D:%[a-z0-9_]+]] = scf.for %k
// CHECK:             mve.load %x{{.*}} : memref<54xi8, #npu.sram> -> vector<4xi32>
// CHECK-NEXT:        mve.add_scalar
// CHECK-NEXT:        mve.to_float
// CHECK-NEXT:        mve.mul_scalar
// CHECK-NEXT:        mve.add
// CHECK:           [[EVEN:%[a-z0-9_]+]] = mve.add [[A]], [[C]] : vector<4xf32>
// CHECK-NEXT:      [[ODD:%[a-z0-9_]+]] = mve.add [[B]], [[D]] : vector<4xf32>
// CHECK-NEXT:      mve.add [[EVEN]], [[ODD]] : vector<4xf32>
// CHECK-COUNT-8:   mve.fma_scalar
// CHECK-NOT:       mve.fma_scalar
// CHECK:           mve.round
// CHECK:           mve.store %{{.*}}, %y{{.*}} : vector<4xi32>, memref<6xi8, #npu.sram>
// CHECK:         mve.load %x{{.*}} first 2 : memref<54xi8, #npu.sram> -> vector<4xi32>
// CHECK:         mve.store %{{.*}}, %y{{.*}} first 2 : vector<4xi32>, memref<6xi8, #npu.sram>
func.func @average(%x: memref<1x6x3x3xi8, strided<[54, 1, 18, 6]>, #npu.sram>, %y: memref<1x6x1x1xi8, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%x : memref<1x6x3x3xi8, strided<[54, 1, 18, 6]>, #npu.sram>) outs(%y : memref<1x6x1x1xi8, #npu.sram>) kernel [3, 3] strides [1, 1] scales [0.1, 0.3] zero_points [3, 5] mode float
  func.return
}

// A map in planes has the general loops.
// CHECK-LABEL: func.func @general(
// CHECK-NOT:     mve
// CHECK:         func.return
func.func @general(%x: memref<1x6x3x3xi8, #npu.sram>, %y: memref<1x6x1x1xi8, #npu.sram>) {
  npu.quantized_avg_pool2d ins(%x : memref<1x6x3x3xi8, #npu.sram>) outs(%y : memref<1x6x1x1xi8, #npu.sram>) kernel [3, 3] strides [1, 1] scales [0.1, 0.3] zero_points [3, 5] mode float
  func.return
}
