// RUN: npu-opt --verify-diagnostics %s -p npu-tile-slow-maps | filecheck %s

// Without sizes nobody knows what room is left.

// CHECK: expected an on-chip buffer of static size, got memref<?xf32, #npu.memory<"fast">>
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 1024 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  func.func @f(%x: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.input},
               %y: memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">> {sram.output},
               %z: memref<?xf32, #npu.memory<"fast">> {sram.input}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, strided<[1280, 8, 32, 1]>, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
}
