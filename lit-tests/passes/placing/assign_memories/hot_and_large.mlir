// RUN: npu-opt %s -p npu-assign-memories | filecheck %s

// The map that is read most lies in the fast memory, and so do its views; the large one does not
// fit there. The argument changes its type, and so does the function.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, memory = [
    {name = "fast", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // CHECK-LABEL: @network
  // CHECK-SAME: %x: memref<1x4x8x8xf32, #npu.memory<"slow">> {sram.input}
  // CHECK-SAME: %y: memref<1x4x4x4xf32, #npu.memory<"fast">> {sram.output}
  func.func @network(%x: memref<1x4x8x8xf32, #npu.sram> {sram.input},
                     %y: memref<1x4x4x4xf32, #npu.sram> {sram.output}) {
    %w = memref.get_global @w : memref<4x4x3x3xf32, #npu.flash>
    %b = memref.get_global @b : memref<4xf32, #npu.flash>
    // CHECK: %small = sram.alloc : memref<1x4x4x4xf32, #npu.memory<"fast">>
    %small = sram.alloc : memref<1x4x4x4xf32, #npu.sram>
    // CHECK-NEXT: npu.max_pool2d ins(%x : memref<1x4x8x8xf32, #npu.memory<"slow">>) outs(%small : memref<1x4x4x4xf32, #npu.memory<"fast">>)
    npu.max_pool2d ins(%x : memref<1x4x8x8xf32, #npu.sram>) outs(%small : memref<1x4x4x4xf32, #npu.sram>) kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0]
    // CHECK-NEXT: %view = memref.subview %small[0, 0, 0, 0] [1, 4, 4, 4] [1, 1, 1, 1] : memref<1x4x4x4xf32, #npu.memory<"fast">> to memref<1x4x4x4xf32, strided<[64, 16, 4, 1]>, #npu.memory<"fast">>
    %view = memref.subview %small[0, 0, 0, 0] [1, 4, 4, 4] [1, 1, 1, 1] : memref<1x4x4x4xf32, #npu.sram> to memref<1x4x4x4xf32, strided<[64, 16, 4, 1]>, #npu.sram>
    npu.conv2d ins(%view, %w, %b : memref<1x4x4x4xf32, strided<[64, 16, 4, 1]>, #npu.sram>, memref<4x4x3x3xf32, #npu.flash>, memref<4xf32, #npu.flash>) outs(%y : memref<1x4x4x4xf32, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1]
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<4x4x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4x4x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
}
