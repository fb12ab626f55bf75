// RUN: npu-opt %s --verify-diagnostics --pass-pipeline='npu-slide-maps{block=0}' | filecheck %s

// CHECK: npu-slide-maps: expected a block of at least 1, got 0
builtin.module {
}
