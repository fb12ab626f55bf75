// RUN: npu-opt %s -p npu-tile-slow-maps | filecheck %s

// A constant shall have a copy in fast memory, so no arena grows, although the memory has room: the
// tiles of @f take the place of a map that does not live there any more, 512 bytes; @g has no tiles.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 4096 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  // CHECK-LABEL: @f
  func.func @f(%x: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.input},
               %y: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.output}) {
    %a = sram.alloc : memref<1x4x4x8xf32, strided<[128, 8, 32, 1]>, #npu.memory<"fast">>
    %part = memref.subview %x[0, 0, 0, 0] [1, 4, 4, 8] [1, 1, 1, 1] : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> to memref<1x4x4x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>
    npu.relu ins(%part : memref<1x4x4x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>) outs(%a : memref<1x4x4x8xf32, strided<[128, 8, 32, 1]>, #npu.memory<"fast">>)
    npu.relu ins(%a : memref<1x4x4x8xf32, strided<[128, 8, 32, 1]>, #npu.memory<"fast">>) outs(%part : memref<1x4x4x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>)
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash> {sram.kept_in = "fast"}
    // CHECK: sram.alloc : memref<1x4x3x8xf32, strided<[96, 8, 32, 1]>, #npu.memory<"fast">>
    // CHECK: rows = 2 : i64, {{.*}}on_chip = 512 : i64
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4
    func.return
  }

  // CHECK-LABEL: @g
  // CHECK-NOT: memref.copy
  func.func @g(%x: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.input},
               %y: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.output}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash> {sram.kept_in = "fast"}
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
}
