// RUN: npu-opt %s --split-input-file --verify-diagnostics --pass-pipeline=npu-mark-work | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-mark-work{misfit=leave}' | filecheck %s --check-prefix=LEAVE

// Without a machine there are no cycles.
// CHECK: npu-mark-work: expected npu.target on the module
// LEAVE-LABEL: func.func @f
// LEAVE-NOT: dma.work
func.func @f() {
  func.return
}

// -----

// Nobody knows how often the loop runs.
// CHECK: npu-mark-work: %n does not follow from constants and indices of loops
// LEAVE-LABEL: func.func @f
// LEAVE-NOT: dma.work
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  func.func @f(%a : memref<16xf32, #npu.sram>, %n : index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
    }
    func.return
  }
}

// -----

// The inner loop stores 40 elements in the second iteration, and none in the first one.
// CHECK: npu-mark-work: expected an op to take the same cycles each time, got [0, 3]
// LEAVE-LABEL: func.func @f
// LEAVE-NOT: dma.work
builtin.module attributes {npu.target = #npu.target<"toy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, macs_per_cycle = {f32 = 2 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 4 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 2 : i64}>} {
  func.func @f(%a : memref<64xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c40 = arith.constant 40 : index
    %zero = arith.constant 0.0 : f32
    scf.for %i = %c0 to %c2 step %c1 {
      %end = arith.muli %i, %c40 : index
      scf.for %j = %c0 to %end step %c1 {
        memref.store %zero, %a[%j] : memref<64xf32, #npu.sram>
      }
      npu.relu ins(%a : memref<64xf32, #npu.sram>) outs(%a : memref<64xf32, #npu.sram>)
    }
    func.return
  }
}
