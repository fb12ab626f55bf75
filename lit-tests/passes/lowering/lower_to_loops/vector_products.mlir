// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

// The gates of eight channels stay in a register for all pixels. The last four channels have fewer lanes. The pixels of the output have
// gaps, as in a slice of a concatenation. An odd zero point is added behind the rounding.
// CHECK-LABEL: func.func @gates(
// CHECK:         scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      [[GATE:%[a-z0-9_]+]] = mve.load %g{{.*}}[%c] : memref<20xi8, #npu.sram> -> vector<8xi16>
// CHECK-NEXT:      [[G:%[a-z0-9_]+]] = mve.add_scalar [[GATE]], %{{.*}} : vector<8xi16>, i32
// CHECK-NEXT:      scf.for %{{.*}} = %{{.*}} to %c6 step %c1 {
// CHECK:             [[MAP:%[a-z0-9_]+]] = mve.load %x{{.*}}[%{{.*}}] : memref<120xi8, #npu.sram> -> vector<8xi16>
// CHECK-NEXT:        [[X:%[a-z0-9_]+]] = mve.add_scalar [[MAP]], %{{.*}} : vector<8xi16>, i32
// CHECK-NEXT:        [[P:%[a-z0-9_]+]] = mve.mul_long [[X]], [[G]] bottom : vector<8xi16> -> vector<4xi32>
// CHECK-NEXT:        [[F:%[a-z0-9_]+]] = mve.to_float [[P]]
// CHECK-NEXT:        [[EVEN:%[a-z0-9_]+]] = mve.mul_scalar [[F]], %{{.*}} : vector<4xf32>, f32
// CHECK-NEXT:        mve.mul_long [[X]], [[G]] top : vector<8xi16> -> vector<4xi32>
// CHECK:             [[NEAR:%[a-z0-9_]+]] = mve.add_scalar [[EVEN]], %{{.*}} : vector<4xf32>, f32
// CHECK:             [[HALVES:%[a-z0-9_]+]] = mve.low_halves [[NEAR]], %{{.*}} : vector<4xf32> -> vector<8xi16>
// CHECK-NEXT:        [[Q:%[a-z0-9_]+]] = mve.add_saturated [[HALVES]], %{{.*}} : vector<8xi16>, i32
// CHECK-NEXT:        mve.store [[Q]], %y{{.*}}[%{{.*}}] saturated : vector<8xi16>, memref<140xi8, #npu.sram>
// CHECK:         mve.load %g{{.*}}[%c16] first 4 : memref<20xi8, #npu.sram> -> vector<8xi16>
// CHECK:         scf.for
// CHECK:           mve.load %x{{.*}}[%{{.*}}] first 4
// CHECK:           mve.store %{{.*}}, %y{{.*}}[%{{.*}}] first 4 saturated
// CHECK-NOT:     arith.divf
func.func @gates(%x: memref<1x20x2x3xi8, strided<[120, 1, 60, 20]>, #npu.sram>, %g: memref<1x20x1x1xi8, #npu.sram>, %y: memref<1x20x2x3xi8, strided<[144, 1, 72, 24]>, #npu.sram>) {
  npu.quantized_binary ins(%x, %g : memref<1x20x2x3xi8, strided<[120, 1, 60, 20]>, #npu.sram>, memref<1x20x1x1xi8, #npu.sram>) outs(%y : memref<1x20x2x3xi8, strided<[144, 1, 72, 24]>, #npu.sram>) with mul scales [0.04, 0.0039, 0.037] zero_points [-3, -128, 5] mode float
  func.return
}

// The gates may come first. A zero point of zero is not subtracted, and an even one is part of what rounds.
// CHECK-LABEL: func.func @first(
// CHECK:         mve.load %g{{.*}}[%{{.*}}] : memref<8xui8, #npu.sram> -> vector<8xi16>
// CHECK-NEXT:    scf.for
// CHECK:           mve.load %x
// CHECK-NEXT:      mve.mul_long
// CHECK-NOT:     mve.add_saturated
// CHECK:         func.return
func.func @first(%g: memref<1x8x1x1xui8, #npu.sram>, %x: memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) {
  npu.quantized_binary ins(%g, %x : memref<1x8x1x1xui8, #npu.sram>, memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) outs(%x : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) with mul scales [0.0039, 0.04, 0.037] zero_points [0, 0, 4] mode qlinear
  func.return
}

// Two maps that lie alike are both loaded, here planes with 11 elements.
// CHECK-LABEL: func.func @maps(
// CHECK:         [[A:%[a-z0-9_]+]] = mve.load %a{{.*}}[%{{.*}}] : memref<11xi8, #npu.sram> -> vector<8xi16>
// CHECK:         [[B:%[a-z0-9_]+]] = mve.load %b{{.*}}[%{{.*}}] : memref<11xi8, #npu.sram> -> vector<8xi16>
// CHECK:         mve.mul_long
// CHECK:         mve.store %{{.*}}, %c{{.*}}[%{{.*}}] saturated : vector<8xi16>, memref<11xi8, #npu.sram>
// CHECK:         mve.load %a{{.*}}[%{{.*}}] first 3
// CHECK:         mve.store %{{.*}}, %c{{.*}}[%{{.*}}] first 3 saturated
// CHECK-NOT:     arith.divf
func.func @maps(%a: memref<1x11x1x1xi8, #npu.sram>, %b: memref<1x11x1x1xi8, #npu.sram>, %c: memref<1x11x1x1xi8, #npu.sram>) {
  npu.quantized_binary ins(%a, %b : memref<1x11x1x1xi8, #npu.sram>, memref<1x11x1x1xi8, #npu.sram>) outs(%c : memref<1x11x1x1xi8, #npu.sram>) with mul scales [0.03, 0.02, 0.041] zero_points [1, 2, 4] mode float
  func.return
}

// Two pairs with one product of differences have different bytes here. All steps of mode float are done; three products divide.
// CHECK-LABEL: func.func @steps(
// CHECK:         [[H:%[a-z0-9_]+]] = mve.load %a{{.*}}[%{{.*}}] : memref<8xi8, #npu.sram> -> vector<8xi16>
// CHECK-NEXT:    mve.load %b
// CHECK-NEXT:    [[W:%[a-z0-9_]+]] = mve.widen [[H]] bottom : vector<8xi16> -> vector<4xi32>
// CHECK-NEXT:    [[F:%[a-z0-9_]+]] = mve.to_float [[W]]
// CHECK-NEXT:    [[A:%[a-z0-9_]+]] = mve.mul_scalar [[F]], %{{.*}} : vector<4xf32>, f32
// CHECK:         [[P:%[a-z0-9_]+]] = mve.mul [[A]], %{{.*}} : vector<4xf32>
// CHECK-NEXT:    mve.mul_scalar [[P]]
// CHECK-COUNT-8: mve.fma_scalar
// CHECK:         mve.low_halves
// CHECK-NOT:     arith.divf
func.func @steps(%a: memref<1x8xi8, #npu.sram>, %b: memref<1x8xi8, #npu.sram>) {
  npu.quantized_binary ins(%a, %b : memref<1x8xi8, #npu.sram>, memref<1x8xi8, #npu.sram>) outs(%a : memref<1x8xi8, #npu.sram>) with mul scales [0.03, 0.02, 0.04] zero_points [0, 0, 4] mode float
  func.return
}

// Planes, other functions, modes of integers, and products of mode qlinear that no factor gives, have general loops.
// CHECK-LABEL: func.func @general(
// CHECK-NOT:     mve
// CHECK:         func.return
func.func @general(%x: memref<1x8x2x3xi8, #npu.sram>, %g: memref<1x8x1x1xi8, #npu.sram>, %y: memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) {
  npu.quantized_binary ins(%x, %g : memref<1x8x2x3xi8, #npu.sram>, memref<1x8x1x1xi8, #npu.sram>) outs(%x : memref<1x8x2x3xi8, #npu.sram>) with mul scales [0.04, 0.0039, 0.037] zero_points [0, 0, 0] mode float
  npu.quantized_binary ins(%y, %g : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, memref<1x8x1x1xi8, #npu.sram>) outs(%y : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) with mul scales [0.04, 0.0039, 0.037] zero_points [0, 0, 0] mode fixed
  npu.quantized_binary ins(%y, %g : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, memref<1x8x1x1xi8, #npu.sram>) outs(%y : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) with max scales [0.04, 0.0039, 0.037] zero_points [0, 0, 0] mode float
  npu.quantized_binary ins(%y, %g : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, memref<1x8x1x1xi8, #npu.sram>) outs(%y : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) with mul scales [1.0, 1.0, 2.0] zero_points [0, 0, 1] mode qlinear
  func.return
}
