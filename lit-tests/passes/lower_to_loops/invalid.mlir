// RUN: npu-opt %s --pass-pipeline=npu-lower-to-loops --verify-diagnostics --split-input-file | filecheck %s

// CHECK-LABEL: npu-lower-to-loops: expected npu.relu on buffers; run npu-bufferize first
func.func @tensor(%x : tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected f32 elements, got memref<4xi8>
func.func @integers(%x : memref<4xi8>) {
  npu.relu ins(%x : memref<4xi8>) outs(%x : memref<4xi8>)
  func.return
}

// -----

// CHECK-LABEL: npu-lower-to-loops: expected a strided layout, got memref<4x4xf32, affine_map
func.func @layout(%x : memref<4x4xf32, affine_map<(d0, d1) -> (d1 mod 2, d0)>>) {
  npu.relu ins(%x : memref<4x4xf32, affine_map<(d0, d1) -> (d1 mod 2, d0)>>) outs(%x : memref<4x4xf32, affine_map<(d0, d1) -> (d1 mod 2, d0)>>)
  func.return
}
