// RUN: NPU_ROUNDTRIP

// The sizes of a machine with several memories are those of its tables.

// CHECK:       #npu.target<"board", {memory = [
// CHECK-SAME:    {name = "dtcm", bytes = 1024 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
// CHECK-SAME:    {name = "axi", bytes = 4096 : i64, read_bytes_per_cycle = 2.500000e-01 : f64, write_bytes_per_cycle = 1 : i64, alignment = 16 : i64, cached = true},
// CHECK-SAME:    {name = "flash", bytes = 8192 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>
builtin.module attributes {npu.target = #npu.target<"board", {memory = [
  {name = "dtcm", bytes = 1024 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
  {name = "axi", bytes = 4096 : i64, read_bytes_per_cycle = 2.500000e-01 : f64, write_bytes_per_cycle = 1 : i64, alignment = 16 : i64, cached = true},
  {name = "flash", bytes = 8192 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {}
