// RUN: npu-opt %s -t c | filecheck %s

// Two layers as npu-outline-layers and npu-lower-to-loops leave them: a convolution that is summed up in one
// variable, and a fully connected layer with a ReLU that reads the flat view of the map before.

// CHECK-LABEL: /* net: printed by npu-dialect, do not edit. */
// CHECK: #ifndef NET_H
// CHECK: #define NET_ARENA_BYTES 112
// CHECK: /* image 1: 1x1x4x4 float, input */
// CHECK-NEXT: #define NET_IMAGE_1_OFFSET 48
// CHECK-NEXT: #define NET_IMAGE_1_ELEMENTS 16
// CHECK: /* scores: 1x3 float, output */
// CHECK-NEXT: #define NET_SCORES_OFFSET 32
// CHECK-NEXT: #define NET_SCORES_ELEMENTS 3
// CHECK: #define NET_WEIGHTS_BYTES 188
// CHECK: int net_run(const float *image_1, float *scores, void *arena);
// CHECK: #define NET_ON_LAYER(index, name) ((void)0)
// CHECK: #define NET_WEIGHTS_SECTION

// CHECK: /* conv_w: 2x1x3x3 float */
// CHECK-NEXT: static const float net_conv_w[18] NET_WEIGHTS_SECTION = {
// CHECK-NEXT:     0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
"memref.global"() <{sym_name = "conv_w", sym_visibility = "private", type = memref<2x1x3x3xf32, #npu.flash>, initial_value = dense<0.5> : tensor<2x1x3x3xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "conv_b", sym_visibility = "private", type = memref<2xf32, #npu.flash>, initial_value = dense<[0.1, -0.0]> : tensor<2xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "fc_w", sym_visibility = "private", type = memref<3x8xf32, #npu.flash>, initial_value = dense<0.25> : tensor<3x8xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "fc_b", sym_visibility = "private", type = memref<3xf32, #npu.flash>, initial_value = dense<"0x0000803F0000C07F000080FF"> : tensor<3xf32>, constant}> : () -> ()
// CHECK: 0.1f, -0.0f,
// CHECK: 1.0f, NAN, -INFINITY,
// A constant that nothing reads is not printed.
// CHECK-NOT: unused
"memref.global"() <{sym_name = "unused", sym_visibility = "private", type = memref<4xf32, #npu.flash>, initial_value = dense<0.0> : tensor<4xf32>, constant}> : () -> ()

// CHECK: /* conv 1: npu.conv2d strides [1, 1] then relu
// CHECK-NEXT:  *   ifm: 1x1x4x4 float, arena bytes 48 to 111
// CHECK-NEXT:  *   w: 2x1x3x3 float, weights conv_w
// CHECK-NEXT:  *   bias: 2 float, weights conv_b
// CHECK-NEXT:  *   ofm: 1x2x2x2 float, arena bytes 0 to 31
// CHECK-NEXT:  */
// CHECK-NEXT: static NPU_NOINLINE void net_conv1(
// CHECK-NEXT:     const float *NPU_RESTRICT ifm,
// CHECK-NEXT:     const float *NPU_RESTRICT w,
// CHECK-NEXT:     const float *NPU_RESTRICT bias,
// CHECK-NEXT:     float *NPU_RESTRICT ofm)
// CHECK-NEXT: {
// CHECK-NEXT:     for (int oc = 0; oc < 2; ++oc) {
// CHECK-NEXT:         for (int oy = 0; oy < 2; ++oy) {
// CHECK-NEXT:             for (int ox = 0; ox < 2; ++ox) {
// CHECK-NEXT:                 float acc = bias[oc];
// CHECK-NEXT:                 for (int ky = 0; ky < 3; ++ky) {
// CHECK-NEXT:                     for (int kx = 0; kx < 3; ++kx) {
// CHECK-NEXT:                         acc += ifm[oy * 4 + ky * 4 + ox + kx] * w[oc * 9 + ky * 3 + kx];
// CHECK-NEXT:                     }
// CHECK-NEXT:                 }
// CHECK-NEXT:                 ofm[oc * 4 + oy * 2 + ox] = acc > 0.0f ? acc : 0.0f;
// CHECK-NEXT:             }
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func private @conv1(%ifm: memref<1x1x4x4xf32, #npu.sram>, %w: memref<2x1x3x3xf32, #npu.flash>, %bias: memref<2xf32, #npu.flash>, %ofm: memref<1x2x2x2xf32, #npu.sram>) attributes {npu.layer = "conv 1", npu.what = "npu.conv2d strides [1, 1] then relu"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  scf.for %oc = %c0 to %c2 step %c1 {
    scf.for %oy = %c0 to %c2 step %c1 {
      scf.for %ox = %c0 to %c2 step %c1 {
        %start = memref.load %bias[%oc] : memref<2xf32, #npu.flash>
        %acc = scf.for %ky = %c0 to %c3 step %c1 iter_args(%outer = %start) -> (f32) {
          %row = scf.for %kx = %c0 to %c3 step %c1 iter_args(%inner = %outer) -> (f32) {
            %y = arith.addi %oy, %ky : index
            %x = arith.addi %ox, %kx : index
            %pixel = memref.load %ifm[%c0, %c0, %y, %x] : memref<1x1x4x4xf32, #npu.sram>
            %weight = memref.load %w[%oc, %c0, %ky, %kx] : memref<2x1x3x3xf32, #npu.flash>
            %product = arith.mulf %pixel, %weight fastmath<contract> : f32
            %next = arith.addf %inner, %product fastmath<contract> : f32
            scf.yield %next : f32
          }
          scf.yield %row : f32
        }
        %positive = arith.cmpf ogt, %acc, %zero : f32
        %relu = arith.select %positive, %acc, %zero : f32
        memref.store %relu, %ofm[%c0, %oc, %oy, %ox] : memref<1x2x2x2xf32, #npu.sram>
      }
    }
  }
  func.return
}

// CHECK: static NPU_NOINLINE void net_fc(
// CHECK:     for (int o = 0; o < 3; ++o) {
// CHECK-NEXT:         float sum = bias[o];
// CHECK-NEXT:         for (int i = 0; i < 8; ++i) {
// CHECK-NEXT:             sum += ifm[i] * w[o * 8 + i];
// CHECK-NEXT:         }
// CHECK-NEXT:         ofm[o] = sum;
func.func private @fc(%ifm: memref<1x8xf32, #npu.sram>, %w: memref<3x8xf32, #npu.flash>, %bias: memref<3xf32, #npu.flash>, %ofm: memref<1x3xf32, #npu.sram>) attributes {npu.layer = "fc", npu.what = "npu.fully_connected"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  scf.for %o = %c0 to %c3 step %c1 {
    %start = memref.load %bias[%o] : memref<3xf32, #npu.flash>
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%before = %start) -> (f32) {
      %x = memref.load %ifm[%c0, %i] : memref<1x8xf32, #npu.sram>
      %weight = memref.load %w[%o, %i] : memref<3x8xf32, #npu.flash>
      %product = arith.mulf %x, %weight fastmath<contract> : f32
      %next = arith.addf %before, %product fastmath<contract> : f32
      scf.yield %next : f32
    }
    memref.store %sum, %ofm[%c0, %o] : memref<1x3xf32, #npu.sram>
  }
  func.return
}

// CHECK: int net_run(const float *image_1, float *scores, void *arena)
// CHECK-NEXT: {
// CHECK-NEXT:     unsigned char *const bytes = (unsigned char *)arena;
// CHECK-NEXT:     if (image_1 == NULL || scores == NULL || arena == NULL) {
// CHECK-NEXT:         return 1;
// CHECK-NEXT:     }
// CHECK-NEXT:     if ((uintptr_t)arena % 16u != 0u) {
// CHECK-NEXT:         return 2;
// CHECK-NEXT:     }
// CHECK:     float *const image_1_map = (float *)(void *)(bytes + NET_IMAGE_1_OFFSET);
// CHECK:     if (image_1 != image_1_map) {
// CHECK-NEXT:         memmove(image_1_map, image_1, 16 * sizeof(float));
// CHECK-NEXT:     }
// CHECK-NEXT:     /* 1x2x2x2 float, arena bytes 0 to 31 */
// CHECK-NEXT:     float *const conv = (float *)(void *)(bytes);
// CHECK-NEXT:     net_conv1(image_1_map, net_conv_w, net_conv_b, conv);
// CHECK-NEXT:     NET_ON_LAYER(0, "conv 1");
// CHECK-NEXT:     net_fc(conv, net_fc_w, net_fc_b, scores_map);
// CHECK-NEXT:     NET_ON_LAYER(1, "fc\?");
// CHECK-NEXT:     if (scores != scores_map) {
// CHECK-NEXT:         memmove(scores, scores_map, 3 * sizeof(float));
// CHECK-NEXT:     }
// CHECK-NEXT:     return 0;
func.func @net(%input: memref<1x1x4x4xf32, #npu.sram> {npu.name = "image 1", sram.input, sram.offset = 48 : i64}, %output: memref<1x3xf32, #npu.sram> {npu.name = "scores", sram.output, sram.offset = 32 : i64}) attributes {sram.arena = 112 : i64} {
  %w1 = memref.get_global @conv_w : memref<2x1x3x3xf32, #npu.flash>
  %b1 = memref.get_global @conv_b : memref<2xf32, #npu.flash>
  %conv = sram.alloc at 0 : memref<1x2x2x2xf32, #npu.sram>
  func.call @conv1(%input, %w1, %b1, %conv) {npu.layer = "conv 1", npu.value = "c"} : (memref<1x1x4x4xf32, #npu.sram>, memref<2x1x3x3xf32, #npu.flash>, memref<2xf32, #npu.flash>, memref<1x2x2x2xf32, #npu.sram>) -> ()
  %flat = memref.reinterpret_cast %conv to offset: [0], sizes: [1, 8], strides: [8, 1] : memref<1x2x2x2xf32, #npu.sram> to memref<1x8xf32, #npu.sram>
  %w2 = memref.get_global @fc_w : memref<3x8xf32, #npu.flash>
  %b2 = memref.get_global @fc_b : memref<3xf32, #npu.flash>
  func.call @fc(%flat, %w2, %b2, %output) {npu.layer = "fc?", npu.value = "s"} : (memref<1x8xf32, #npu.sram>, memref<3x8xf32, #npu.flash>, memref<3xf32, #npu.flash>, memref<1x3xf32, #npu.sram>) -> ()
  func.return
}
