// RUN: npu-opt %s -t c --verify-diagnostics --split-input-file | filecheck %s

func.func @outside(%x: memref<4xf32, #npu.memory<"fast">> {sram.input, sram.offset = 4 : i64},
                   %y: memref<4xf32, #npu.memory<"slow">> {sram.output, sram.offset = 2 : i64})
    attributes {sram.arenas = {fast = 16 : i64, slow = 32 : i64}} {
  func.return
}
// CHECK: c: these buffers cannot be used:
// CHECK-NEXT: argument 0 of @outside: bytes 4 to 20 do not lie in the arena in fast of 16
// CHECK-NEXT: argument 1 of @outside: offset 2 is no multiple of 4, the size of float

// -----

func.func @nowhere(%x: memref<4xf32, #npu.memory<"other">> {sram.input, sram.offset = 0 : i64})
    attributes {sram.arenas = {fast = 16 : i64}} {
  func.return
}
// CHECK: argument 0 of @nowhere: there is no arena in other
