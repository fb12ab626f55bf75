// RUN: npu-opt %s -p npu-assign-memories,npu-assign-sram-offsets | filecheck %s --check-prefix=SHARED
// RUN: npu-opt %s -p 'npu-assign-memories{sharing=false},npu-assign-sram-offsets{strategy=none}' | filecheck %s --check-prefix=ALONE

// %a and %c do not live together, so both fit into the fast memory, unless each has its own bytes.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 40 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // SHARED: sram.arenas = {fast = 40 : i64, slow = 24 : i64}
  // ALONE: sram.arenas = {fast = 40 : i64, slow = 44 : i64}
  func.func @f(%x: memref<6xf32, #npu.memory<"slow">> {sram.input}) {
    %a = sram.alloc : memref<5xf32, #npu.sram>
    %b = sram.alloc : memref<5xf32, #npu.sram>
    %c = sram.alloc : memref<5xf32, #npu.sram>
    "test.op"(%x, %a) : (memref<6xf32, #npu.memory<"slow">>, memref<5xf32, #npu.sram>) -> ()
    "test.op"(%a, %b) : (memref<5xf32, #npu.sram>, memref<5xf32, #npu.sram>) -> ()
    "test.op"(%b, %c) : (memref<5xf32, #npu.sram>, memref<5xf32, #npu.sram>) -> ()
    func.return
  }
}
