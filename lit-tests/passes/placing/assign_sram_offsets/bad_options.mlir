// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{alignment=12})' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{space="(sram"})' --verify-diagnostics | filecheck %s --check-prefix SPACE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{space="#npu.sram more"})' --verify-diagnostics | filecheck %s --check-prefix MORE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{space="npu.sram"})' --verify-diagnostics | filecheck %s --check-prefix NAME

// NAME-LABEL: npu-assign-sram-offsets: expected space to be that of a buffer, such as #npu.sram, got 'npu.sram'
// CHECK-LABEL: npu-assign-sram-offsets: expected an alignment of 2^n, got 12
// SPACE-LABEL: npu-assign-sram-offsets: expected space to be a number, a name like "L1", or an attribute like #npu.sram, got '(sram'
// MORE-LABEL: npu-assign-sram-offsets: expected space to be a number, a name like "L1", or an attribute like #npu.sram, got '#npu.sram more'
func.func @f() {
  func.return
}
