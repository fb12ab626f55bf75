// RUN: not npu-opt %s -p 'npu-fuse-activations{layers=all}' 2>&1 | filecheck %s

// CHECK-LABEL: layers
func.func @f() {
  func.return
}
