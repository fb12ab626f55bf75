// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-fuse-conv-relu-pool{overlap=ring})' 2>&1 | filecheck %s

// CHECK-LABEL: npu-opt: error:
// CHECK-SAME: npu-fuse-conv-relu-pool: option overlap: expected one of line-buffer, recompute, none, got 'ring'
