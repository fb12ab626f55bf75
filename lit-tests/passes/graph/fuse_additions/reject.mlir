// RUN: not npu-opt %s -p 'npu-fuse-additions{when=always}' 2>&1 | filecheck %s

// CHECK-LABEL: npu-opt: error:
// CHECK-SAME: npu-fuse-additions
