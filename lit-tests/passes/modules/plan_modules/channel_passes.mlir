// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{working-memory=stride-1-map channel-passes=3})' --split-input-file | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{working-memory=stride-1-map channel-passes=3},npu-plan-modules{working-memory=stride-1-map})' --split-input-file | filecheck %s --check-prefix=ONE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{channel-passes=3})' --split-input-file | filecheck %s --check-prefix=NONE
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{channel-passes=0})' --split-input-file 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: npu-plan-modules: expected at least 1 of channel-passes, got 0

// MIFM 512 bytes; a stride of 2: 128 bytes of output, and 512 of working memory for all 8 channels. In two passes that are 256,
// for 4 channels; of 8 kernels of 8 bytes 4 are on chip in a pass. The pool has no working memory and is not split.
// CHECK-LABEL: func.func @two_passes
// CHECK: npu.module concat axis 1 of %x policy I mifm 512 at 0 mofm 256 at 744
// CHECK: npu.conv2d {{.*}} {npu.required = 416 : i64, npu.available = 488 : i64, npu.forward = true, npu.passes = 2 : i64}
// CHECK: npu.max_pool2d {{.*}} {npu.required = 128 : i64, npu.available = 360 : i64, npu.forward = true}
// ONE-LABEL: func.func @two_passes
// ONE-NOT: npu.passes
// NONE-LABEL: func.func @two_passes
// NONE-NOT: npu.passes
builtin.module attributes {npu.target = #npu.target<"tight", {sram_bytes = 1000 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 1 : i64}>} {
func.func @two_passes(%x: tensor<1x8x8x8xi8>, %w: tensor<8x8x1x1xi8>) -> tensor<1x16x4x4xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x16x4x4xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w strides [2, 2] pads [0, 0, 0, 0] : (tensor<1x8x8x8xi8>, tensor<8x8x1x1xi8>) -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
    npu.branch part 1 {
      %a = npu.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x8x8x8xi8> -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
  }
  func.return %y : tensor<1x16x4x4xi8>
}
}

// -----

// The MIFM does not stay on chip: each pass would fetch it again, so the layer is not split.
// CHECK-LABEL: func.func @not_from_off_chip
// CHECK: npu.module concat axis 1 of %x policy II :
// CHECK-NOT: npu.passes
// ONE-LABEL: func.func @not_from_off_chip
// NONE-LABEL: func.func @not_from_off_chip
builtin.module attributes {npu.target = #npu.target<"small", {sram_bytes = 650 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 1 : i64, ifm_chunks = 4 : i64}>} {
func.func @not_from_off_chip(%x: tensor<1x8x8x8xi8>, %w: tensor<8x8x1x1xi8>) -> tensor<1x16x4x4xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x16x4x4xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w strides [2, 2] pads [0, 0, 0, 0] : (tensor<1x8x8x8xi8>, tensor<8x8x1x1xi8>) -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
    npu.branch part 1 {
      %a = npu.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x8x8x8xi8> -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
  }
  func.return %y : tensor<1x16x4x4xi8>
}
}

// -----

// With two buffers of weights no plan fits. With one, three passes leave room for the MIFM.
// CHECK-LABEL: func.func @single_buffers
// CHECK: npu.module concat axis 1 of %x policy II mifm 512 at 0
// CHECK: npu.conv2d {{.*}} {npu.required = 280 : i64, npu.available = 288 : i64, npu.forward = false, npu.passes = 3 : i64}
// ONE-LABEL: func.func @single_buffers
// ONE: npu.module concat axis 1 of %x policy II :
// NONE-LABEL: func.func @single_buffers
builtin.module attributes {npu.target = #npu.target<"tight", {sram_bytes = 800 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, ifm_chunks = 1 : i64}>} {
func.func @single_buffers(%x: tensor<1x8x8x8xi8>, %w: tensor<8x8x1x1xi8>) -> tensor<1x16x4x4xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x16x4x4xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w strides [2, 2] pads [0, 0, 0, 0] : (tensor<1x8x8x8xi8>, tensor<8x8x1x1xi8>) -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
    npu.branch part 1 {
      %a = npu.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x8x8x8xi8> -> tensor<1x8x4x4xi8>
      npu.yield %a : tensor<1x8x4x4xi8>
    }
  }
  func.return %y : tensor<1x16x4x4xi8>
}
}
