// RUN: npu-opt %s --pass-pipeline=npu-fuse-rows --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-rows{sram-bytes=0}' --verify-diagnostics | filecheck %s --check-prefix=NONE

// NONE-LABEL: npu-fuse-rows: expected sram-bytes of at least 1, got 0
// CHECK-LABEL: npu-fuse-rows: expected the size of the SRAM: run npu-attach-target, or set sram-bytes
func.func @f() {
  func.return
}
