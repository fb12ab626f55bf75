// RUN: npu-opt %s -p npu-verify-attributes --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

func.func private @f(memref<4xf32, #npu.memory<"DTCM">>) -> ()
// CHECK: expected a name of a memory of at most 24 lower case letters, digits and _, that begins with a letter and is none of arena, dma, dram, weights, got 'DTCM'

// -----

func.func private @f(memref<4xf32, #npu.memory<dtcm>>) -> ()
// CHECK: string literal

// -----

func.func private @f() -> () attributes {sram.arenas = 4 : i64}
// CHECK: expected sram.arenas to be a dictionary of integers of at least 0, got 4 : i64

// -----

func.func private @f() -> () attributes {sram.arenas = {dtcm = -1 : i64}}
// CHECK: expected sram.arenas to be a dictionary of integers of at least 0

// -----

func.func private @f() -> () attributes {sram.arenas = {}}
// CHECK: expected sram.arenas to be a dictionary of integers of at least 0
