// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{max-slowdown=-1}' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-fuse-regions{when=needed}' --verify-diagnostics | filecheck %s --check-prefix=SIZE

// SIZE-LABEL: npu-fuse-regions: expected the size of the SRAM: run npu-attach-target, or set sram-bytes
// CHECK-LABEL: npu-fuse-regions: expected a slowdown of 0 % or more, got -1
func.func @f() {
  func.return
}
