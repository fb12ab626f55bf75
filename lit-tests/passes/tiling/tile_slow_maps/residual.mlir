// RUN: npu-opt %s -p npu-tile-slow-maps | filecheck %s

// The input is copied. The other operand of the addition is not, as each of its elements is used
// for one output only.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 8192 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @f
  func.func @f(%x: memref<1x8x8x8xf32, #npu.memory<"slow">> {sram.input},
               %r: memref<1x16x8x8xf32, #npu.memory<"slow">> {sram.input},
               %y: memref<1x16x8x8xf32, #npu.memory<"slow">> {sram.output}) {
    %v = memref.get_global @v : memref<16x8x1x1xf32, #npu.flash>
    // CHECK: sram.alloc : memref<1x8x8x8xf32, #npu.memory<"fast">>
    // CHECK-NEXT: "memref.copy"
    // CHECK-NEXT: npu.conv2d ins(%x_tile, %v, %r : {{.*}}) outs(%y : {{.*}} then add residual first
    npu.conv2d ins(%x, %v, %r : memref<1x8x8x8xf32, #npu.memory<"slow">>, memref<16x8x1x1xf32, #npu.flash>, memref<1x16x8x8xf32, #npu.memory<"slow">>) outs(%y : memref<1x16x8x8xf32, #npu.memory<"slow">>) strides [1, 1] pads [0, 0, 0, 0] then add residual first
    func.return
  }
  "memref.global"() <{sym_name = "v", type = memref<16x8x1x1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<16x8x1x1xf32>, sym_visibility = "private", constant}> : () -> ()
}
