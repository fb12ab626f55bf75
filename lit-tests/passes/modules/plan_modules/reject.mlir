// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules)' --verify-diagnostics --split-input-file | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{policy=III})' --split-input-file 2>&1 | filecheck %s --check-prefix=OPTION

// With single buffers: 4 of 8 channels of 64 bytes read, 4 of 16 written, 4 kernels of 8 bytes.
// CHECK-LABEL: npu-plan-modules: wide needs 416 bytes of SRAM at least, tiny has 400
// OPTION-LABEL: npu-plan-modules: option policy: expected one of auto, I, II, got 'III'
builtin.module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, ifm_chunks = 4 : i64}>} {
func.func @too_small(%x: tensor<1x8x7x7xi8>, %w0: tensor<16x8x1x1xi8>) -> tensor<1x24x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x24x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "wide"} : (tensor<1x8x7x7xi8>, tensor<16x8x1x1xi8>) -> tensor<1x16x7x7xi8>
      npu.yield %a : tensor<1x16x7x7xi8>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x8x7x7xi8>
    }
  }
  func.return %y : tensor<1x24x7x7xi8>
}
}

// -----

// CHECK: npu-plan-modules: expected a machine: attribute npu.target on the module, or npu-attach-target
func.func @no_machine(%x: tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %y = npu.module concat axis 1 of %x : tensor<1x2x4x4xf32> -> tensor<1x4x4x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x2x4x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x2x4x4xf32>
    }
  }
  func.return %y : tensor<1x4x4x4xf32>
}
