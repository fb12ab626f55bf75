// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{misfit=leave})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{misfit=leave},npu-plan-modules{misfit=leave})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{misfit=leave},npu-attach-target{target=exynos-npu},npu-plan-modules)' | filecheck %s --check-prefix=LARGE

builtin.module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, ifm_chunks = 4 : i64}>} {

// The machine is too small for the first module: it stays as it was, without what an earlier plan has said, and says why.
// The one behind it is planned. On a larger machine both are.
// CHECK-LABEL: func.func @one_of_two
// CHECK: npu.module concat axis 1 of %x {npu.not_planned = "wide needs 416 bytes of SRAM at least, tiny has 400"} :
// CHECK-NEXT: npu.branch part 0 required 7 {
// CHECK-NEXT: npu.conv2d {{.*}} {npu.layer = "wide"} :
// CHECK: npu.module concat axis 1 of %z policy I mifm 64 at 0 mofm 128 at 272 :
// LARGE-LABEL: func.func @one_of_two
// LARGE: npu.module concat axis 1 of %x policy I
// LARGE-NOT: npu.not_planned
func.func @one_of_two(%x: tensor<1x8x7x7xi8>, %z: tensor<1x1x8x8xi8>, %w0: tensor<16x8x1x1xi8>) -> (tensor<1x24x7x7xi8>, tensor<1x2x8x8xi8>) {
  %y = npu.module concat axis 1 of %x policy I mifm 512 mofm 512 : tensor<1x8x7x7xi8> -> tensor<1x24x7x7xi8> {
    npu.branch part 0 required 7 occupied 8 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] {npu.layer = "wide", npu.forward = true} : (tensor<1x8x7x7xi8>, tensor<16x8x1x1xi8>) -> tensor<1x16x7x7xi8>
      npu.yield %a : tensor<1x16x7x7xi8>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x8x7x7xi8>
    }
  }
  %v = npu.module concat axis 1 of %z : tensor<1x1x8x8xi8> -> tensor<1x2x8x8xi8> {
    npu.branch part 0 {
      %a = npu.max_pool2d %z kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xi8> -> tensor<1x1x8x8xi8>
      npu.yield %a : tensor<1x1x8x8xi8>
    }
    npu.branch part 1 {
      %a = npu.max_pool2d %z kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xi8> -> tensor<1x1x8x8xi8>
      npu.yield %a : tensor<1x1x8x8xi8>
    }
  }
  func.return %y, %v : tensor<1x24x7x7xi8>, tensor<1x2x8x8xi8>
}
}
