// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-fuse-conv-relu-pool)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m4},npu-fuse-conv-relu-pool)' | filecheck %s --check-prefix=M4

// A core with a vector unit computes sums in lanes, and looks 16 bytes up at once: a table stays a layer of its own. Bounds are fused.
// CHECK-LABEL: func.func @table
// CHECK-NEXT: npu.conv2d {{.*}} then requantize scales [0.5] zero_point 0 mode float then clamp [0.0, 127.0] :
// CHECK-NEXT: npu.lookup
// CHECK-NEXT: func.return
// M4-LABEL: func.func @table
// M4-NEXT: npu.conv2d {{.*}} then requantize scales [0.5] zero_point 0 mode float then lookup signed
// M4-NEXT: func.return
func.func @table(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xi8> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] : (tensor<1x2x4x4xi8>, tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xi32>
  %q = npu.requantize %c scales [0.5] zero_points [0, 0] mode float : tensor<1x3x4x4xi32> -> tensor<1x3x4x4xi8>
  %r = npu.clamp %q low 0.0 high 127.0 : tensor<1x3x4x4xi8> -> tensor<1x3x4x4xi8>
  %t = npu.lookup %r with lookup signed "8182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f7f" : tensor<1x3x4x4xi8> -> tensor<1x3x4x4xi8>
  func.return %t : tensor<1x3x4x4xi8>
}

// The pool behind a table is fused with it: the whole map would take more memory.
// CHECK-LABEL: func.func @pooled
// CHECK-NEXT: npu.conv2d {{.*}} then lookup signed "{{[0-9a-f]*}}" then max_pool [2, 2] by [2, 2] :
// CHECK-NEXT: func.return
func.func @pooled(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xi8>) -> tensor<1x3x2x2xi8> {
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] zero_points [0, 0] : (tensor<1x2x4x4xi8>, tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xi32>
  %q = npu.requantize %c scales [0.5] zero_points [0, 0] mode float : tensor<1x3x4x4xi32> -> tensor<1x3x4x4xi8>
  %t = npu.lookup %q with lookup signed "8182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f7f" : tensor<1x3x4x4xi8> -> tensor<1x3x4x4xi8>
  %p = npu.max_pool2d %t kernel [2, 2] strides [2, 2] : tensor<1x3x4x4xi8> -> tensor<1x3x2x2xi8>
  func.return %p : tensor<1x3x2x2xi8>
}
