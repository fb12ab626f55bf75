// RUN: NPU_DIAGNOSTICS

builtin.module attributes {npu.target = #npu.target<fe310, {}>} {}
// CHECK: string literal

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64}>} {}
// CHECK: missing key 'sram_bytes'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 0 : i64, flash_bytes = 0 : i64}>} {}
// CHECK: expected sram_bytes to be an integer of at least 1, got 0

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 16 : i64, flash_bytes = -1 : i64}>} {}
// CHECK: expected flash_bytes to be an integer of at least 0, got -1

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 16 : i64, flash_bytes = 0 : i64, alignment = 3 : i64}>} {}
// CHECK: expected alignment to be a power of two, got 3

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 16 : i64, flash_bytes = 0 : i64, cores = 3 : i64}>} {}
// CHECK: unknown key 'cores': expected

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = "16", flash_bytes = 0 : i64}>} {}
// CHECK: expected sram_bytes to be an integer of at least 1, got '16'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 16 : i64, flash_bytes = 0 : i64, features = [1]}>} {}
// CHECK: expected features to be a list of strings
