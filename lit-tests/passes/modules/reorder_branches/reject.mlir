// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches)' --verify-diagnostics --split-input-file | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-reorder-branches{working-memory=all})' --split-input-file 2>&1 | filecheck %s --check-prefix=OPTION

// CHECK-LABEL: npu-reorder-branches: expected a machine: attribute npu.target on the module, or npu-attach-target
// OPTION-LABEL: npu-reorder-branches: option working_memory: expected one of machine, none, stride-1-map, got 'all'
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

// -----

// CHECK: expected only layers and modules in a branch, got tensor.collapse_shape
builtin.module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64}>} {
func.func @other_op(%x: tensor<2x2xf32>) -> tensor<8xf32> {
  %y = npu.module concat axis 0 of %x : tensor<2x2xf32> -> tensor<8xf32> {
    npu.branch part 0 {
      %a = "tensor.collapse_shape"(%x) <{reassociation = [[0 : i64, 1 : i64]]}> : (tensor<2x2xf32>) -> tensor<4xf32>
      npu.yield %a : tensor<4xf32>
    }
    npu.branch part 1 {
      %a = npu.reshape %x : tensor<2x2xf32> -> tensor<4xf32>
      npu.yield %a : tensor<4xf32>
    }
  }
  func.return %y : tensor<8xf32>
}
}
