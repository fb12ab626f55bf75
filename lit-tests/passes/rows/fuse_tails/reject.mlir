// RUN: npu-opt %s --pass-pipeline=npu-fuse-tails --verify-diagnostics --split-input-file | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='npu-fuse-tails{size=1}' --split-input-file 2>&1 | filecheck %s --check-prefix=OPTION

// It rejects a machine that is none, because it asks for the size of its SRAM, and options.
// OPTION: pass npu-fuse-tails: unknown option 'size': expected no options

builtin.module attributes {npu.target = "fe310"} {
}
// CHECK-LABEL: expected npu.target to be an #npu.target<...>, got "fe310"
