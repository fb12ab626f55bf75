// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-outline-layers{prefix=x})' 2>&1 | filecheck %s

// CHECK-LABEL: npu-opt: error:
// CHECK-SAME: npu-outline-layers: unknown option 'prefix': expected no options
