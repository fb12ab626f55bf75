// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

// Sixteen channels of a window at a time, then the last four of twenty.
// CHECK-LABEL: func.func @whole(
// CHECK:         scf.for %oy
// CHECK:           scf.for %ox
// CHECK:             mve.load %x{{.*}} : memref<320xi8, #npu.sram> -> vector<16xi8>
// CHECK-COUNT-3:     mve.max
// CHECK:             mve.store %{{.*}}, %y{{.*}} : vector<16xi8>, memref<80xi8, #npu.sram>
// CHECK:             mve.load %x{{.*}} first 4 : memref<320xi8, #npu.sram> -> vector<16xi8>
// CHECK-COUNT-3:     mve.max
// CHECK:             mve.store %{{.*}}, %y{{.*}} first 4 : vector<16xi8>, memref<80xi8, #npu.sram>
func.func @whole(%x: memref<1x20x4x4xi8, strided<[320, 1, 80, 20]>, #npu.sram>, %y: memref<1x20x2x2xi8, strided<[80, 1, 40, 20]>, #npu.sram>) {
  npu.max_pool2d ins(%x : memref<1x20x4x4xi8, strided<[320, 1, 80, 20]>, #npu.sram>) outs(%y : memref<1x20x2x2xi8, strided<[80, 1, 40, 20]>, #npu.sram>) kernel [2, 2] strides [2, 2]
  func.return
}

// Windows that padding cuts begin with the least byte.
// CHECK-LABEL: func.func @cut(
// CHECK:         [[LEAST:%[a-z0-9_]+]] = mve.splat %{{.*}} : i32 -> vector<16xi8>
// CHECK:         scf.for %ky = %{{.*}} iter_args(%{{.*}} = [[LEAST]]) -> (vector<16xi8>)
func.func @cut(%x: memref<1x16x4x4xi8, strided<[256, 1, 64, 16]>, #npu.sram>, %y: memref<1x16x4x4xi8, strided<[256, 1, 64, 16]>, #npu.sram>) {
  npu.max_pool2d ins(%x : memref<1x16x4x4xi8, strided<[256, 1, 64, 16]>, #npu.sram>) outs(%y : memref<1x16x4x4xi8, strided<[256, 1, 64, 16]>, #npu.sram>) kernel [3, 3] pads [1, 1, 1, 1]
  func.return
}

// Maps in planes, bytes without signs, averages and few channels have the general loops.
// CHECK-LABEL: func.func @general(
// CHECK-NOT:     mve
// CHECK:         func.return
func.func @general(%x: memref<1x4x4x4xi8, #npu.sram>, %y: memref<1x4x2x2xi8, #npu.sram>, %u: memref<1x4x4x4xui8, strided<[64, 1, 16, 4]>, #npu.sram>, %v: memref<1x4x2x2xui8, strided<[16, 1, 8, 4]>, #npu.sram>, %f: memref<1x2x4x4xi8, strided<[32, 1, 8, 2]>, #npu.sram>, %g: memref<1x2x2x2xi8, strided<[8, 1, 4, 2]>, #npu.sram>) {
  npu.max_pool2d ins(%x : memref<1x4x4x4xi8, #npu.sram>) outs(%y : memref<1x4x2x2xi8, #npu.sram>) kernel [2, 2] strides [2, 2]
  npu.max_pool2d ins(%u : memref<1x4x4x4xui8, strided<[64, 1, 16, 4]>, #npu.sram>) outs(%v : memref<1x4x2x2xui8, strided<[16, 1, 8, 4]>, #npu.sram>) kernel [2, 2] strides [2, 2]
  npu.max_pool2d ins(%f : memref<1x2x4x4xi8, strided<[32, 1, 8, 2]>, #npu.sram>) outs(%g : memref<1x2x2x2xi8, strided<[8, 1, 4, 2]>, #npu.sram>) kernel [2, 2] strides [2, 2]
  func.return
}
