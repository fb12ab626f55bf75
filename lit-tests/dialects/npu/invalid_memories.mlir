// RUN: NPU_DIAGNOSTICS

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = ["dtcm"]}>} {}
// CHECK: tables {{\[\[}}memory]], got 'dtcm'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [1]}>} {}
// CHECK: expected memory to be a list of tables

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64}]}>} {}
// CHECK: memory: missing key 'read_bytes_per_cycle'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64, speed = 1 : i64}]}>} {}
// CHECK: memory: unknown key 'speed': expected name, bytes

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "DTCM", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: expected a name of a memory of at most 24 lower case letters

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "arena", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: is none of arena, dma, dram, weights, got 'arena'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 0 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: memory 'a': expected bytes to be an integer of at least 1, got 0

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 0 : i64}]}>} {}
// CHECK: memory 'a': expected read_bytes_per_cycle to be above 0, got 0

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64, alignment = 3 : i64}]}>} {}
// CHECK: memory 'a': expected alignment to be a power of two, got 3

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64, dma = 1 : i64}]}>} {}
// CHECK: memory 'a': expected dma to be true or false, got 1

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}, {name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: two memories have the name 'a'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {}
// CHECK: expected a memory that is not read_only

// -----

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 9 : i64, flash_bytes = 0 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: expected sram_bytes to be 8, as the memories say, got 9

// -----

builtin.module attributes {npu.target = #npu.target<"m", {memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: missing key 'flash_bytes'

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, dma_channels = 1 : i64, dma_fifo_bytes = 512 : i64, memory = [{name = "a", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}, {name = "b", bytes = 8 : i64, read_bytes_per_cycle = 1 : i64}]}>} {}
// CHECK: expected one memory that is not read_only on a machine with a PL-330 (dma_fifo_bytes), got a, b

// -----

builtin.module attributes {npu.target = #npu.target<"m", {flash_bytes = 0 : i64, dma_channels = 1 : i64, memory = [
    {name = "tcm", bytes = 64 : i64, read_bytes_per_cycle = 1 : i64, dma = false}]}>} {}
// CHECK: expected a memory with dma = true on a machine with dma_channels, as its DMA engine moves maps there, got tcm without
