// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{alignment=12})' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{space="(sram"})' --verify-diagnostics | filecheck %s --check-prefix SPACE

// CHECK-LABEL: npu-assign-sram-offsets: expected an alignment of 2^n, got 12
// SPACE-LABEL: npu-assign-sram-offsets: expected space to be an attribute like #npu.sram, got '(sram'
func.func @f() {
  func.return
}
