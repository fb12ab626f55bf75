// RUN: npu-opt %s --split-input-file --verify-diagnostics --pass-pipeline=npu-estimate-time | filecheck %s

// CHECK: npu-estimate-time: expected npu.target on the module: it says how fast the machine is
func.func @no_machine() {
  func.return
}

// -----

// A file with some of the numbers gives no cycles.
// CHECK: npu-estimate-time: expected a machine whose file has all numbers of time: half has no macs_per_cycle, dma_bytes_per_cycle
builtin.module attributes {npu.target = #npu.target<"half", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64, sram_bytes_per_cycle = 5.000000e-01 : f64, dma_setup_cycles = 10 : i64}>} {
  func.func @f() {
    func.return
  }
}
