// RUN: npu-opt %s -p npu-tile-slow-maps,npu-assign-sram-offsets | filecheck %s

// The output may overwrite the input. As such a claim is one of an op, all tiles stand in one loop,
// which makes it. A row has 128 bytes. Six rows are written before the next copy, which begins one
// row above their end: so %y has to lie a row before %x, and all fits into 5 248 bytes.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 1024 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @f
  // CHECK-SAME: sram.offset = 128 : i64
  // CHECK-SAME: sram.offset = 0 : i64
  // CHECK-SAME: sram.arenas = {fast = 1024 : i64, slow = 5248 : i64}
  func.func @f(%x: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.input},
               %y: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.output}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    // CHECK: scf.for %all = %c0 to %c1 step %c1 {
    // CHECK: sram.alloc at 0 : memref<1x4x7x8xf32, strided<[224, 8, 32, 1]>, #npu.memory<"fast">>
    // CHECK: npu.conv2d {{.*}} {npu.layer = "dw", npu.runs = 1 : i64, npu.tile
    // CHECK: scf.for %rows
    // CHECK: sram.alloc at 0 : memref<1x4x5x8xf32, strided<[160, 8, 32, 1]>, #npu.memory<"fast">>
    // CHECK: } {npu.overlays = array<i64: 0, 1, 128, -1>}
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "dw", npu.overlays = array<i64: 0, 2, 160, 160>}
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
}
