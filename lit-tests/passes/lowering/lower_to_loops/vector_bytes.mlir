// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

// Eight bytes of two maps that lie alike are added in a step. The last three have fewer lanes.
// CHECK-LABEL: func.func @sum(
// CHECK:         [[START:%[a-z0-9_]+]] = mve.splat %{{.*}} : f32 -> vector<4xf32>
// CHECK:         scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           [[A:%[a-z0-9_]+]] = mve.load %a{{.*}}[%i] : memref<19xi8, #npu.sram> -> vector<4xi32>
// CHECK-NEXT:      [[B:%[a-z0-9_]+]] = mve.load %b{{.*}}[%i] : memref<19xi8, #npu.sram> -> vector<4xi32>
// CHECK-NEXT:      [[RHS:%[a-z0-9_]+]] = mve.to_float [[B]]
// CHECK:           [[PART:%[a-z0-9_]+]] = mve.fma_scalar [[RHS]], %{{.*}}, [[START]] : vector<4xf32>
// CHECK-NEXT:      [[LHS:%[a-z0-9_]+]] = mve.to_float [[A]]
// CHECK:           [[TOTAL:%[a-z0-9_]+]] = mve.fma_scalar [[LHS]], %{{.*}}, [[PART]] : vector<4xf32>
// CHECK:           [[NEAR:%[a-z0-9_]+]] = mve.add_scalar [[TOTAL]], %{{.*}} : vector<4xf32>, f32
// CHECK:           mve.low_halves [[NEAR]], %{{.*}} : vector<4xf32> -> vector<8xi16>
// CHECK-NEXT:      mve.scatter %{{.*}}, %c{{.*}}[%i] at %targets{{.*}} reach 8 saturated : memref<19xi8, #npu.sram>
// CHECK:         mve.load %a{{.*}}[%{{.*}}] first 3 : memref<19xi8, #npu.sram> -> vector<4xi32>
// CHECK:         mve.scatter %{{.*}}, %c{{.*}}[%{{.*}}] at %targets{{.*}} reach 3 lanes 21 saturated : memref<19xi8, #npu.sram>
// CHECK-NOT:     arith.divf
func.func @sum(%a: memref<1x19xi8, #npu.sram>, %b: memref<1x19xi8, #npu.sram>, %c: memref<1x19xi8, #npu.sram>) {
  npu.quantized_add ins(%a, %b : memref<1x19xi8, #npu.sram>, memref<1x19xi8, #npu.sram>) outs(%c : memref<1x19xi8, #npu.sram>) scales [0.1, 0.2, 0.3] zero_points [1, 2, 4] mode float
  func.return
}

// The pixels of a slice are runs. An odd zero point is added behind the rounding, as there are ties.
// CHECK-LABEL: func.func @scale(
// CHECK:         scf.for %pixel = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-COUNT-2:   mve.fma_scalar
// CHECK:           [[Q:%[a-z0-9_]+]] = mve.add_saturated %{{.*}}, %{{.*}} : vector<8xi16>, i32
// CHECK-NEXT:      mve.scatter [[Q]], %y{{.*}}[%{{.*}}] at %targets{{.*}} reach 8 saturated : memref<68xui8, #npu.sram>
// CHECK-NOT:     mve.load
func.func @scale(%x: memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, %y: memref<1x8x2x3xui8, strided<[72, 1, 36, 12]>, #npu.sram>) {
  npu.requantize ins(%x : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) outs(%y : memref<1x8x2x3xui8, strided<[72, 1, 36, 12]>, #npu.sram>) scales [0.5] zero_points [0, 3] mode float
  func.return
}

// Maps that lie otherwise have general loops, and so have maps of 16 bits and modes of integers.
// CHECK-LABEL: func.func @general(
// CHECK-NOT:     mve
// CHECK:         func.return
func.func @general(%x: memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, %y: memref<1x8x2x3xi8, #npu.sram>, %z: memref<1x8x2x3xi16, #npu.sram>) {
  npu.requantize ins(%x : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) outs(%y : memref<1x8x2x3xi8, #npu.sram>) scales [0.5] zero_points [0, 3] mode float
  npu.requantize ins(%y : memref<1x8x2x3xi8, #npu.sram>) outs(%z : memref<1x8x2x3xi16, #npu.sram>) scales [0.5] zero_points [0, 3] mode float
  npu.requantize ins(%y : memref<1x8x2x3xi8, #npu.sram>) outs(%y : memref<1x8x2x3xi8, #npu.sram>) scales [0.5] zero_points [0, 3] mode fixed
  func.return
}

"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x16x1x1xi8, #npu.flash>, initial_value = dense<2> : tensor<4x16x1x1xi8>, constant}> : () -> ()

// The residual of a convolution is added to its requantised sums, which are held within their bounds first.
// CHECK-LABEL: func.func @residual(
// CHECK:         mve.mul_runs
// CHECK:         [[OWN:%[a-z0-9_]+]] = mve.min %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK:         [[OTHER:%[a-z0-9_]+]] = mve.load %r{{.*}} : memref<24xi8, #npu.sram> -> vector<4xi32>
// CHECK:         mve.to_float [[OWN]]
// CHECK:         mve.to_float [[OTHER]]
// CHECK:         mve.fma_scalar
// CHECK:         mve.add_scalar
// CHECK:         mve.scatter
// CHECK-NOT:     arith.divf
func.func @residual(%x: memref<1x16x2x3xi8, strided<[96, 1, 48, 16]>, #npu.sram>, %r: memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>, %y: memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x16x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w, %r : memref<1x16x2x3xi8, strided<[96, 1, 48, 16]>, #npu.sram>, memref<4x16x1x1xi8, #npu.flash>, memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) outs(%y : memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float then add residual first scales [0.1, 0.2, 0.3] zero_points [1, 5, 4] mode float
  func.return
}

// A residual whose pixels lie at other distances is added to single outputs.
// CHECK-LABEL: func.func @apart(
// CHECK:         mve.mla_across
// CHECK-NOT:     mve.fma_scalar
// CHECK:         func.return
func.func @apart(%x: memref<1x16x2x3xi8, strided<[96, 1, 48, 16]>, #npu.sram>, %r: memref<1x4x2x3xi8, strided<[72, 1, 36, 12]>, #npu.sram>, %y: memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x16x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w, %r : memref<1x16x2x3xi8, strided<[96, 1, 48, 16]>, #npu.sram>, memref<4x16x1x1xi8, #npu.flash>, memref<1x4x2x3xi8, strided<[72, 1, 36, 12]>, #npu.sram>) outs(%y : memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float then add residual first scales [0.1, 0.2, 0.3] zero_points [1, 5, 4] mode float
  func.return
}
