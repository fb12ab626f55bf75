// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-order-layers{budget=-1})' 2>&1 | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-order-layers{when=never})' 2>&1 | filecheck %s --check-prefix=WHEN
// CHECK: npu-order-layers: expected a budget of 0 steps or more, got -1
// WHEN: npu-order-layers: option when: expected one of always, fits, needed, got 'never'

func.func @f() {
  func.return
}
