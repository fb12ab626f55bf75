// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=z80})' --verify-diagnostics | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target="%S/Inputs/missing.toml"})' --verify-diagnostics | filecheck %s --check-prefix=MISSING
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target="%S/Inputs/wrong.toml"})' --verify-diagnostics | filecheck %s --check-prefix=WRONG
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-attach-target)' 2>&1 | filecheck %s --check-prefix=NONE

// CHECK-LABEL: npu-attach-target: unknown target 'z80': expected one of
// CHECK-SAME: fe310
// MISSING-LABEL: npu-attach-target: {{.*}}missing.toml: cannot read
// WRONG-LABEL: npu-attach-target: {{.*}}wrong.toml: unknown key 'sram_kilobytes': expected
// NONE-LABEL: pass npu-attach-target: missing option 'target'
builtin.module {
}
