// RUN: npu-opt %s -p 'npu-estimate-instructions{core="z80"}' --verify-diagnostics | filecheck %s

// CHECK-LABEL: npu-estimate-instructions: no costs of instructions for 'z80': expected {{.*}}cortex-m4
func.func @net() {
  func.return
}
