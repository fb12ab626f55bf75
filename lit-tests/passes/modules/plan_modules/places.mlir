// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{places=false})' | filecheck %s

// The policy and what is forwarded are those of plan.mlir, but nothing says where maps lie or how much SRAM is left.
// CHECK-LABEL: func.func @chain
// CHECK: npu.module concat axis 1 of %x policy I mifm 512 mofm 512 :
// CHECK: npu.conv2d {{.*}} {npu.required = 288 : i64, npu.forward = true}
// CHECK-NOT: npu.available
builtin.module attributes {npu.target = #npu.target<"roomy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, ifm_chunks = 4 : i64}>} {
func.func @chain(%x: tensor<1x8x7x7xi8>, %w: tensor<4x8x1x1xi8>) -> tensor<1x8x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x8x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
    npu.branch part 1 {
      %a = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
  }
  func.return %y : tensor<1x8x7x7xi8>
}
}
