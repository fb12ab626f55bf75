// RUN: npu-opt %s --pass-pipeline=npu-concat-in-place --verify-diagnostics --split-input-file | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='npu-concat-in-place{size=1}' --split-input-file 2>&1 | filecheck %s --check-prefix=OPTION

// It rejects a machine that is none, because it asks for the size of its SRAM and its spaces, and options.
// OPTION: pass npu-concat-in-place: unknown option 'size': expected no options

builtin.module attributes {npu.target = "fe310"} {
}
// CHECK-LABEL: expected npu.target to be an #npu.target<...>, got "fe310"
