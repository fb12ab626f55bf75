// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=fe310})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=fe310},npu-attach-target{target=fe310})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target="%S/Inputs/tiny.toml"})' | filecheck %s --check-prefix=FILE

// CHECK-LABEL: builtin.module attributes {
// CHECK-SAME: npu.target = #npu.target<"fe310", {sram_bytes = 16384 : i64, flash_bytes = 16777216 : i64
// FILE-LABEL: builtin.module attributes {
// FILE-SAME: npu.target = #npu.target<"tiny", {sram_bytes = 64 : i64
// FILE-SAME: kept = 1 : i64
builtin.module attributes {npu.target = #npu.target<"old", {sram_bytes = 1 : i64, flash_bytes = 1 : i64}>, kept = 1 : i64} {
}
