// RUN: npu-opt %s --pass-pipeline=npu-fuse-rows --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-fuse-rows: expected the size of the SRAM: run npu-attach-target, or set sram-bytes
func.func @f() {
  func.return
}
