// RUN: npu-opt --split-input-file %s -p npu-tile-slow-maps | filecheck %s

// What stays: maps in fast memory, maps that are read once, a layer that writes over what it reads,
// and layers whose smallest tile has no room.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 8192 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @stay
  // CHECK-NOT: memref.copy
  func.func @stay(%x: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.input},
                  %y: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.output}) {
    %f = sram.alloc : memref<1x4x40x8xf32, #npu.memory<"fast">>
    %g = sram.alloc : memref<1x4x40x8xf32, #npu.memory<"fast">>
    npu.relu ins(%x : memref<1x4x40x8xf32, #npu.memory<"slow">>) outs(%f : memref<1x4x40x8xf32, #npu.memory<"fast">>)
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%f, %w : memref<1x4x40x8xf32, #npu.memory<"fast">>, memref<4x1x3x3xf32, #npu.flash>) outs(%g : memref<1x4x40x8xf32, #npu.memory<"fast">>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "dw"}
    npu.relu ins(%g : memref<1x4x40x8xf32, #npu.memory<"fast">>) outs(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>)
    npu.relu ins(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>) outs(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>)
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<8x4x1x1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8x4x1x1xf32>, sym_visibility = "private", constant}> : () -> ()
}

// -----

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @small
  // CHECK-NOT: memref.copy
  func.func @small(%x: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.input},
                   %y: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.output}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "dw"}
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<8x4x1x1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8x4x1x1xf32>, sym_visibility = "private", constant}> : () -> ()
}

// -----

// A machine whose file does not say how long things take.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, memory = [
    {name = "fast", bytes = 1024 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 5.0e-01 : f64}]}>} {
  // CHECK-LABEL: @timeless
  // CHECK-NOT: memref.copy
  func.func @timeless(%x: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.input},
                      %y: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.output}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "dw"}
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<8x4x1x1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8x4x1x1xf32>, sym_visibility = "private", constant}> : () -> ()
}

// -----

// A slow memory that is hardly slower: copies would take longer than they save.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, clock_hz = 1000000 : i64,
    macs_per_cycle = {f32 = 1 : i64}, memory = [
    {name = "fast", bytes = 1024 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "slow", bytes = 65536 : i64, read_bytes_per_cycle = 3.9e+00 : f64}]}>} {
  // CHECK-LABEL: @alike
  // CHECK-NOT: memref.copy
  func.func @alike(%x: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.input},
                   %y: memref<1x4x40x8xf32, #npu.memory<"slow">> {sram.output}) {
    %w = memref.get_global @w : memref<4x1x3x3xf32, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x4x40x8xf32, #npu.memory<"slow">>, memref<4x1x3x3xf32, #npu.flash>) outs(%y : memref<1x4x40x8xf32, #npu.memory<"slow">>) strides [1, 1] pads [1, 1, 1, 1] groups 4 {npu.layer = "dw"}
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x1x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x1x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "v", type = memref<8x4x1x1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8x4x1x1xf32>, sym_visibility = "private", constant}> : () -> ()
}
