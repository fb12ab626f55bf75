// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{max-slowdown=-1}' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=needed}' --verify-diagnostics | filecheck %s --check-prefix=SIZE
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=needed sram-bytes=0}' --verify-diagnostics | filecheck %s --check-prefix=NONE

// NONE-LABEL: npu-fuse-regions: expected sram-bytes of at least 1, got 0
// SIZE-LABEL: npu-fuse-regions: expected the size of the SRAM: run npu-attach-target, or set sram-bytes
// CHECK-LABEL: npu-fuse-regions: expected a slowdown of 0 % or more, got -1
func.func @f() {
  func.return
}
