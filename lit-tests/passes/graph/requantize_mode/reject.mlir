// RUN: not npu-opt %s --pass-pipeline='npu-requantize-mode{mode=exact}' 2>&1 | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='npu-requantize-mode{mode=1}' 2>&1 | filecheck %s --check-prefix=NUMBER

// It rejects nothing but another mode: every layer that changes scales has both.
// CHECK-LABEL: pass npu-requantize-mode: option mode: expected one of float, fixed, got 'exact'
// NUMBER-LABEL: pass npu-requantize-mode: option mode: expected one of float, fixed, got
func.func @f() {
  func.return
}
