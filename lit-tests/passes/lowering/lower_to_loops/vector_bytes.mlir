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

// No fused multiply-adds give the bytes of these scales: a quotient is a product and one correction.
// CHECK-LABEL: func.func @steps(
// CHECK:         scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           [[A:%[a-z0-9_]+]] = mve.load %a{{.*}}[%i] : memref<19xi8, #npu.sram> -> vector<4xi32>
// CHECK-NEXT:      [[B:%[a-z0-9_]+]] = mve.load %b{{.*}}[%i] : memref<19xi8, #npu.sram> -> vector<4xi32>
// CHECK-NEXT:      [[LHS:%[a-z0-9_]+]] = mve.add_scalar [[A]], %{{.*}} : vector<4xi32>, i32
// CHECK-NEXT:      [[FIRST:%[a-z0-9_]+]] = mve.to_float [[LHS]]
// CHECK-NEXT:      [[TERM:%[a-z0-9_]+]] = mve.mul_scalar [[FIRST]], %{{.*}} : vector<4xf32>, f32
// CHECK:           [[OTHER:%[a-z0-9_]+]] = mve.mul_scalar %{{.*}}, %{{.*}} : vector<4xf32>, f32
// CHECK-NEXT:      [[TOTAL:%[a-z0-9_]+]] = mve.add [[TERM]], [[OTHER]] : vector<4xf32>
// CHECK-NEXT:      [[Q:%[a-z0-9_]+]] = mve.mul_scalar [[TOTAL]], %{{.*}} : vector<4xf32>, f32
// CHECK-NEXT:      [[REST:%[a-z0-9_]+]] = mve.fma_scalar [[Q]], %{{.*}}, [[TOTAL]] : vector<4xf32>
// CHECK-NEXT:      mve.fma_scalar [[REST]], %{{.*}}, [[Q]] : vector<4xf32>
// CHECK-NEXT:      %{{.*}} = arith.addi
// CHECK:           mve.scatter %{{.*}}, %c{{.*}}[%i] at %targets{{.*}} reach 8 saturated : memref<19xi8, #npu.sram>
// CHECK-NOT:     arith.divf
func.func @steps(%a: memref<1x19xi8, #npu.sram>, %b: memref<1x19xi8, #npu.sram>, %c: memref<1x19xi8, #npu.sram>) {
  npu.quantized_add ins(%a, %b : memref<1x19xi8, #npu.sram>, memref<1x19xi8, #npu.sram>) outs(%c : memref<1x19xi8, #npu.sram>) scales [0.037, 0.051, 0.022] zero_points [11, -5, -4] mode float
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

// The pixels of a residual may lie at other distances: 12 bytes here, and 4 in the output.
// CHECK-LABEL: func.func @apart(
// CHECK:         mve.mul_runs
// CHECK:         [[OTHER:%[a-z0-9_]+]] = arith.muli %{{.*}}, %c12 : index
// CHECK:         mve.load %r{{.*}}[[[OTHER]]] : memref<64xi8, #npu.sram> -> vector<4xi32>
// CHECK-COUNT-2: mve.fma_scalar
// CHECK:         mve.scatter %{{.*}}, %y{{.*}} reach 8 saturated : memref<24xi8, #npu.sram>
// CHECK-NOT:     arith.divf
func.func @apart(%x: memref<1x16x2x3xi8, strided<[96, 1, 48, 16]>, #npu.sram>, %r: memref<1x4x2x3xi8, strided<[72, 1, 36, 12]>, #npu.sram>, %y: memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x16x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w, %r : memref<1x16x2x3xi8, strided<[96, 1, 48, 16]>, #npu.sram>, memref<4x16x1x1xi8, #npu.flash>, memref<1x4x2x3xi8, strided<[72, 1, 36, 12]>, #npu.sram>) outs(%y : memref<1x4x2x3xi8, strided<[24, 1, 12, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float then add residual first scales [0.1, 0.2, 0.3] zero_points [1, 5, 4] mode float
  func.return
}

// Sixteen bytes are looked up at once. They are places without signs, so the entry of 0 comes first. A map is overwritten in place.
// CHECK:         sym_name = "lookup_lookup", type = memref<256xi8, #npu.flash>, initial_value = dense<"0x7F7E7D
// CHECK-LABEL: func.func @lookup(
// CHECK:         scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      [[X:%[a-z0-9_]+]] = mve.load %x{{.*}}[%i] : memref<35xi8, #npu.sram> -> vector<16xi8>
// CHECK-NEXT:      [[Y:%[a-z0-9_]+]] = mve.gather_bytes %lookup{{.*}}[%c0] at [[X]] reach 256 : memref<256xi8, #npu.flash>
// CHECK-NEXT:      mve.store [[Y]], %x{{.*}}[%i] : vector<16xi8>, memref<35xi8, #npu.sram>
// CHECK:         mve.load %x{{.*}} first 3 : memref<35xi8, #npu.sram> -> vector<16xi8>
// CHECK:         mve.store %{{.*}} first 3 : vector<16xi8>, memref<35xi8, #npu.sram>
func.func @lookup(%x: memref<1x35xi8, #npu.sram>) {
  npu.lookup ins(%x : memref<1x35xi8, #npu.sram>) outs(%x : memref<1x35xi8, #npu.sram>) with lookup signed "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100"
  func.return
}
