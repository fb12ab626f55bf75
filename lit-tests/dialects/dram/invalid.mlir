// RUN: NPU_DIAGNOSTICS

func.func @f() {
  %a = dram.alloc : memref<?xf32, #npu.dram>
  func.return
}
// CHECK: expected a static shape, got memref<?xf32, #npu.dram>

// -----

func.func @f() {
  %a = dram.alloc at -4 : memref<4xf32, #npu.dram>
  func.return
}
// CHECK: expected an offset of at least 0, got -4
