// RUN: npu-opt %s --pass-pipeline=npu-spill-pruned-maps --verify-diagnostics --split-input-file | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='npu-spill-pruned-maps{size=1}' --split-input-file 2>&1 | filecheck %s --check-prefix=OPTION

// It rejects a machine that is none, because it asks for its DMA channels, and options.
// OPTION: pass npu-spill-pruned-maps: unknown option 'size': expected no options

builtin.module attributes {npu.target = "fe310"} {
}
// CHECK-LABEL: expected npu.target to be an #npu.target<...>, got "fe310"
