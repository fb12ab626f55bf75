// RUN: npu-opt %s --verify-diagnostics -p 'npu-choose-kernels{room=-1}' | filecheck %s

// CHECK: npu-choose-kernels: expected room of at least 0 bytes, got -1
func.func @main() {
  func.return
}
