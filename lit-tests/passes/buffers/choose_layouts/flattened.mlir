// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-choose-layouts | filecheck %s

// The map gets its channels last, and the columns of the weights follow: channel 0 of both pixels,
// channel 1 of both, ... become pixel 0 of all channels, then pixel 1.
// CHECK:       sym_name = "w"
// CHECK-SAME:  initial_value = dense<{{\[\[}}0, 2, 4, 6, 1, 3, 5, 7], [10, 12, 14, 16, 11, 13, 15, 17]]> : tensor<2x8xi8>
// CHECK-LABEL: func.func @flattened
// CHECK:       sram.alloc : memref<1x4x1x2xi8, strided<[8, 1, 8, 4]>, #npu.sram>
// CHECK:       memref.reinterpret_cast %a to offset: [0], sizes: [1, 8], strides: [8, 1]
"memref.global"() <{sym_name = "w", type = memref<2x8xi8, #npu.flash>, initial_value = dense<[[0, 1, 2, 3, 4, 5, 6, 7], [10, 11, 12, 13, 14, 15, 16, 17]]> : tensor<2x8xi8>, sym_visibility = "private", constant}> : () -> ()
func.func @flattened(%x : memref<1x4x1x2xi8, #npu.sram>, %y : memref<1x2xi32, #npu.sram>) {
  %a = sram.alloc : memref<1x4x1x2xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x1x2xi8, #npu.sram>) outs(%a : memref<1x4x1x2xi8, #npu.sram>)
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [1, 8], strides: [8, 1] : memref<1x4x1x2xi8, #npu.sram> to memref<1x8xi8, #npu.sram>
  %w = memref.get_global @w : memref<2x8xi8, #npu.flash>
  npu.fully_connected ins(%v, %w : memref<1x8xi8, #npu.sram>, memref<2x8xi8, #npu.flash>) outs(%y : memref<1x2xi32, #npu.sram>) zero_points [0, 0]
  func.return
}

// -----

// Weights that another layer reads stay as they are, and so does the map.
// CHECK:       initial_value = dense<{{\[\[}}0, 1, 2, 3, 4, 5, 6, 7], [10, 11, 12, 13, 14, 15, 16, 17]]>
// CHECK-LABEL: func.func @shared
// CHECK:       sram.alloc : memref<1x4x1x2xi8, #npu.sram>
"memref.global"() <{sym_name = "w", type = memref<2x8xi8, #npu.flash>, initial_value = dense<[[0, 1, 2, 3, 4, 5, 6, 7], [10, 11, 12, 13, 14, 15, 16, 17]]> : tensor<2x8xi8>, sym_visibility = "private", constant}> : () -> ()
func.func @shared(%x : memref<1x4x1x2xi8, #npu.sram>, %y : memref<1x2xi32, #npu.sram>, %z : memref<1x8xi8, #npu.sram>, %u : memref<1x2xi32, #npu.sram>) {
  %a = sram.alloc : memref<1x4x1x2xi8, #npu.sram>
  npu.relu ins(%x : memref<1x4x1x2xi8, #npu.sram>) outs(%a : memref<1x4x1x2xi8, #npu.sram>)
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [1, 8], strides: [8, 1] : memref<1x4x1x2xi8, #npu.sram> to memref<1x8xi8, #npu.sram>
  %w = memref.get_global @w : memref<2x8xi8, #npu.flash>
  npu.fully_connected ins(%v, %w : memref<1x8xi8, #npu.sram>, memref<2x8xi8, #npu.flash>) outs(%y : memref<1x2xi32, #npu.sram>) zero_points [0, 0]
  %w2 = memref.get_global @w : memref<2x8xi8, #npu.flash>
  npu.fully_connected ins(%z, %w2 : memref<1x8xi8, #npu.sram>, memref<2x8xi8, #npu.flash>) outs(%u : memref<1x2xi32, #npu.sram>) zero_points [0, 0]
  func.return
}
