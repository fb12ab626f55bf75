// RUN: npu-opt %s -p 'npu-assign-sram-offsets{strategy=greedy}' | filecheck %s
// RUN: npu-opt %s -p 'npu-assign-sram-offsets{strategy=exact}' | filecheck %s
// RUN: npu-opt %s -p 'npu-assign-sram-offsets{strategy=none}' | filecheck %s --check-prefix=NONE

// Each memory has offsets from 0 and an arena of its own. The arenas are in the order of the
// machine's file, whatever comes first in the IR. %b and %c share memory, %a and %b do not.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64, alignment = 16 : i64},
    {name = "other", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @f
  // CHECK-SAME: sram.offset = 0 : i64
  // CHECK-SAME: sram.arenas = {fast = 16 : i64, slow = 36 : i64}
  // NONE: sram.arenas = {fast = 32 : i64, slow = 36 : i64}
  func.func @f(%x: memref<4xf32, #npu.memory<"slow">> {sram.input}) {
    // CHECK: %a = sram.alloc at 16 : memref<5xf32, #npu.memory<"slow">>
    %a = sram.alloc : memref<5xf32, #npu.memory<"slow">>
    // CHECK: %b = sram.alloc at 0 : memref<4xf32, #npu.memory<"fast">>
    %b = sram.alloc : memref<4xf32, #npu.memory<"fast">>
    // CHECK: %c = sram.alloc at 0 : memref<4xf32, #npu.memory<"fast">>
    %c = sram.alloc : memref<4xf32, #npu.memory<"fast">>
    npu.relu ins(%x : memref<4xf32, #npu.memory<"slow">>) outs(%b : memref<4xf32, #npu.memory<"fast">>)
    "test.op"(%b, %a) : (memref<4xf32, #npu.memory<"fast">>, memref<5xf32, #npu.memory<"slow">>) -> ()
    "test.op"(%x, %c, %a) : (memref<4xf32, #npu.memory<"slow">>, memref<4xf32, #npu.memory<"fast">>, memref<5xf32, #npu.memory<"slow">>) -> ()
    func.return
  }
}
