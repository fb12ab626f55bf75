// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x3x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<4x3x3x3xi8>, constant}> : () -> ()

// A window of 27 bytes is two vectors, which are gathered once for all filters. Two neighbouring outputs share the places of their
// bytes, and the weights. Four of its idle lanes are constants, so that the sum of all products has its first value. Rows of padding
// have code of their own, in which limits make bytes outside of the map the zero point.
// CHECK:       sym_name = "images_places", type = memref<288xi16, #npu.flash>
// CHECK:       sym_name = "images_greatest", type = memref<288xi8, #npu.flash>
// CHECK-LABEL: func.func @images(
// CHECK:         scf.if
// CHECK:           scf.for %ox = %{{.*}} {
// CHECK:             [[TABLE:%[a-z0-9_]+]] = dsp.opaque
// CHECK:             [[EVEN:%[a-z0-9_]+]] = mve.load [[TABLE]]
// CHECK-NEXT:        [[ODD:%[a-z0-9_]+]] = mve.load [[TABLE]]
// CHECK-NEXT:        dsp.keep_order
// CHECK-NEXT:        mve.gather %x{{.*}} at [[EVEN]] reach 1091 : memref<1536xi8, #npu.sram>
// CHECK-NEXT:        mve.gather %x{{.*}} at [[ODD]] reach 1091 : memref<1536xi8, #npu.sram>
// CHECK:             mve.gather %x{{.*}} at [[EVEN]] reach 1091
// CHECK:             [[LAST:%[a-z0-9_]+]] = mve.set_word %{{.*}}[3], %cst{{.*}} : vector<16xi8>
// CHECK-NEXT:        [[NEXT:%[a-z0-9_]+]] = mve.set_word %{{.*}}[3], %cst{{.*}} : vector<16xi8>
// CHECK:             [[BLOCK:%[a-z0-9_]+]] = dsp.opaque %{{.*}} : memref<32xi32, strided<[1], offset: ?>, #npu.flash>
// CHECK-NEXT:        dsp.keep_order
// CHECK-NEXT:        mve.mul_rows %{{.*}}, [[LAST]], %{{.*}}, [[NEXT]] by [[BLOCK]][%c0] rows 4 : {{.*}} -> vector<4xi32>, vector<4xi32>
// CHECK-NEXT:        dsp.keep_order
// CHECK:             mve.scatter
// CHECK-NOT:       mve.pack
// CHECK:         } else {
// CHECK:           mve.min %{{.*}}, %limit{{.*}} : vector<16xi8>
// CHECK:           mve.max %{{.*}}, %limit{{.*}} : vector<16xi8>
func.func @images(%x: memref<1x3x16x32xi8, #npu.sram>, %y: memref<1x4x16x32xi8, strided<[2048, 1, 128, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x3x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x3x16x32xi8, #npu.sram>, memref<4x3x3x3xi8, #npu.flash>) outs(%y : memref<1x4x16x32xi8, strided<[2048, 1, 128, 4]>, #npu.sram>) pads [1, 1, 1, 1] zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// An output that is smaller than its map may lie over it. So the last four outputs of a row are computed together, two of them from
// the stack: it can follow the map more closely.
// CHECK-LABEL: func.func @follows(
// CHECK:         scf.for %ox = %{{.*}} {
// CHECK:           mve.scatter
// CHECK:         mve.pack %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<4x16xi8>
func.func @follows(%x: memref<1x3x17x33xi8, #npu.sram>, %y: memref<1x4x8x16xi8, strided<[512, 1, 64, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x3x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x3x17x33xi8, #npu.sram>, memref<4x3x3x3xi8, #npu.flash>) outs(%y : memref<1x4x8x16xi8, strided<[512, 1, 64, 4]>, #npu.sram>) strides [2, 2] zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// One load takes bytes that lie near each other. A pool takes the maximum of the sums of all its windows, without bounds between.
// CHECK-LABEL: func.func @near(
// CHECK-COUNT-4: mve.gather_bytes %x{{.*}} reach 67 : memref<768xi8, #npu.sram>
// CHECK:         mve.max %{{.*}}, %{{.*}} : vector<4xi32>
func.func @near(%x: memref<1x1x24x32xi8, #npu.sram>, %y: memref<1x4x11x15xi8, strided<[660, 1, 60, 4]>, #npu.sram>) {
  %w = memref.get_global @v : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x1x24x32xi8, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x11x15xi8, strided<[660, 1, 60, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float then max_pool [2, 2] by [2, 2]
  func.return
}

"memref.global"() <{sym_name = "v", sym_visibility = "private", type = memref<4x1x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<4x1x3x3xi8>, constant}> : () -> ()
