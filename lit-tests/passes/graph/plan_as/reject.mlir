// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-as)' --verify-diagnostics | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='builtin.module(npu-plan-as{type=i7})' 2>&1 | filecheck %s --check-prefix=TYPE

// CHECK-LABEL: npu-plan-as: expected layers on tensors: run it before npu-bufferize
// TYPE-LABEL: npu-plan-as: option type: expected one of i8, i16, f16, bf16, got 'i7'
func.func @buffers(%x: memref<4xf32>) {
  npu.relu ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}
