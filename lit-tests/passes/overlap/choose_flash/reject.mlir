// RUN: not npu-opt %s -p npu-choose-flash{bytes=-4} 2>&1 | filecheck %s
// RUN: not npu-opt %s -p npu-choose-flash{byte=4} 2>&1 | filecheck %s --check-prefix=NAME

// CHECK-LABEL: npu-choose-flash: expected bytes of at least 0, got -4
// NAME-LABEL: pass npu-choose-flash: unknown option 'byte': expected bytes
func.func @f() {
  func.return
}
