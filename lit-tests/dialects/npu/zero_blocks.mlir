// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @on_tensors
// GENERIC-LABEL: sym_name = "on_tensors"
func.func @on_tensors(%x: tensor<1x4x9x9xf32>, %q: tensor<1x4x9x9xi8>) {
  // CHECK: npu.prune_zero_blocks %x block 4 threshold 0.1 {npu.layer = "z"} : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
  // GENERIC: "npu.prune_zero_blocks"(%x) <{block = 4 : i64, threshold = 1.000000e-01 : f64, zero_point = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> {npu.layer = "z"}
  %y = npu.prune_zero_blocks %x block 4 threshold 0.1 {npu.layer = "z"} : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
  // CHECK: npu.prune_zero_blocks %q block 8 threshold 0.5 scale 0.25 zero_point -128 : tensor<1x4x9x9xi8> -> tensor<1x4x9x9xi8>
  %r = npu.prune_zero_blocks %q block 8 threshold 0.5 scale 0.25 zero_point -128 : tensor<1x4x9x9xi8> -> tensor<1x4x9x9xi8>
  func.return
}

// CHECK-LABEL: func.func @on_buffers
func.func @on_buffers(%x: memref<1x4x9x9xf32, #npu.sram>) {
  // CHECK: npu.prune_zero_blocks ins(%x : memref<1x4x9x9xf32, #npu.sram>) outs(%x : memref<1x4x9x9xf32, #npu.sram>) block 1 threshold 0.0
  npu.prune_zero_blocks ins(%x : memref<1x4x9x9xf32, #npu.sram>) outs(%x : memref<1x4x9x9xf32, #npu.sram>) block 1 threshold 0.0
  func.return
}
