// RUN: npu-opt %s -p npu-tile-slow-maps | filecheck %s

// A depthwise layer reads each element nine times. 1 024 bytes of fast memory have room for eight
// rows of its input; two of them are halo. The first and the last tile stand by themselves, as they
// have padding. The output is written where it lies.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 1024 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @rows
  func.func @rows(%x: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.input},
                  %y: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.output}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    // CHECK: [[FIRST:%[0-9a-z_]+]] = memref.subview %x[0, 0, 0, 0] [1, 4, 7, 8] [1, 1, 1, 1]
    // CHECK-NEXT: %x_tile = sram.alloc : memref<1x4x7x8xf32, #npu.memory<"fast">>
    // CHECK-NEXT: "memref.copy"([[FIRST]], %x_tile) {npu.layer = "dw"}
    // CHECK-NEXT: [[OUT:%[0-9a-z_]+]] = memref.subview %y[0, 0, 0, 0] [1, 4, 6, 8]
    // CHECK-NEXT: npu.conv2d ins(%x_tile, %w : {{.*}}) outs([[OUT]] : {{.*}}#npu.memory<"slow">>) strides [1, 1] pads [1, 1, 0, 1] groups 4 {npu.layer = "dw", npu.runs = 1 : i64,
    // CHECK-SAME: npu.tile = {sizes = {{{.*}}rows = 6 : i64, {{.*}}}, order = "rows", bytes = 6656 : i64, transfers = 7 : i64, on_chip = 1024 : i64, saved_cycles = {{[0-9]+}} : i64}
    // CHECK-NEXT: scf.for %rows = %c0 to %c5 step %c1 {
    // CHECK: [[PART:%[0-9a-z_]+]] = memref.subview %x[0, 0, %rows_at, 0] [1, 4, 8, 8]
    // CHECK-NEXT: [[TILE:%[0-9a-z_]+]] = sram.alloc : memref<1x4x8x8xf32, #npu.memory<"fast">>
    // CHECK-NEXT: "memref.copy"([[PART]], [[TILE]])
    // CHECK: npu.conv2d ins([[TILE]], %w : {{.*}} pads [0, 1, 0, 1] groups 4 {npu.layer = "dw", npu.runs = 5 : i64}
    // CHECK: sram.alloc : memref<1x4x5x8xf32, #npu.memory<"fast">>
    // CHECK: npu.conv2d {{.*}} pads [0, 1, 1, 1] groups 4
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "dw"}
    func.return
  }

  // One tile: all of a map with channels last. The tile has its axes in the same order.
  // CHECK-LABEL: @whole
  func.func @whole(%x: memref<1x4x8x8xf32, strided<[256, 1, 32, 4]>, #npu.memory<"slow">> {sram.input},
                   %y: memref<1x8x8x8xf32, #npu.memory<"slow">> {sram.output}) {
    %v = memref.get_global @v : memref<8x4x1x1xf32, #npu.flash>
    // CHECK: memref.subview %x[0, 0, 0, 0] [1, 4, 8, 8]
    // CHECK-NEXT: %x_tile = sram.alloc : memref<1x4x8x8xf32, strided<[256, 1, 32, 4]>, #npu.memory<"fast">>
    // CHECK-NEXT: "memref.copy"
    // CHECK-NEXT: npu.conv2d ins(%x_tile, %v : {{.*}}) outs(%y : {{.*}}order = "", bytes = 1024 : i64, transfers = 1 : i64
    npu.conv2d ins(%x, %v : memref<1x4x8x8xf32, strided<[256, 1, 32, 4]>, #npu.memory<"slow">>, memref<8x4x1x1xf32, #npu.flash>) outs(%y : memref<1x8x8x8xf32, #npu.memory<"slow">>) strides [1, 1] pads [0, 0, 0, 0]
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<8x4x1x1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8x4x1x1xf32>, sym_visibility = "private", constant}> : () -> ()
}
