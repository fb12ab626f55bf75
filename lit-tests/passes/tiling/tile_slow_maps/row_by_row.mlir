// RUN: npu-opt %s -p npu-tile-slow-maps | filecheck %s

// A layer in a loop over rows: the rows that it needs are one tile, copied in each step. The loop
// claims how close its buffers may lie, and does so again with the copies in it.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 512 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @f
  func.func @f(%x: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.input},
               %y: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.output}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c38 = arith.constant 38 : index
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    // CHECK: scf.for %r = %c0 to %c38 step %c1 {
    scf.for %r = %c0 to %c38 step %c1 {
      // CHECK-NEXT: %rows = memref.subview
      %rows = memref.subview %x[0, 0, %r, 0] [1, 4, 3, 8] [1, 1, 1, 1] : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> to memref<1x4x3x8xf32, strided<[1280, 8, 32, 1], offset: ?>, #npu.memory<"slow">>
      // CHECK-NEXT: %row = memref.subview
      %row = memref.subview %y[0, 0, %r, 0] [1, 4, 1, 8] [1, 1, 1, 1] : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> to memref<1x4x1x8xf32, strided<[1280, 8, 32, 1], offset: ?>, #npu.memory<"slow">>
      // CHECK-NEXT: %part = memref.subview %rows[0, 0, 0, 0] [1, 4, 3, 8]
      // CHECK-NEXT: %rows_tile = sram.alloc : memref<1x4x3x8xf32, strided<[96, 8, 32, 1]>, #npu.memory<"fast">>
      // CHECK-NEXT: "memref.copy"(%part, %rows_tile)
      // CHECK-NEXT: npu.conv2d ins(%rows_tile, %w : {{.*}} {npu.runs = 38 : i64, npu.tile =
      npu.conv2d ins(%rows, %w : memref<1x4x3x8xf32, strided<[1280, 8, 32, 1], offset: ?>, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%row : memref<1x4x1x8xf32, strided<[1280, 8, 32, 1], offset: ?>, #npu.memory<"slow">>) strides [1, 1] pads [0, 1, 0, 1] groups 4 {npu.runs = 38 : i64}
    // CHECK: } {npu.overlays = array<i64: 0, 1, 0, -1>}
    } {npu.overlays = array<i64: 0, 1, 128, -1>}
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
}
