// RUN: npu-opt %s -p npu-assign-memories{constants=true} | filecheck %s
// RUN: npu-opt %s -p npu-assign-memories | filecheck %s --check-prefix=PLAIN

// The input takes all 256 bytes of the fast memory. With constants it gives way to the weights (144
// bytes), the bias and the output (64 bytes): a byte of these saves more there, as flash is slower
// than the slow memory.

// CHECK: @network(%x: memref<1x4x4x4xf32, #npu.memory<"slow">> {sram.input}, %y: memref<1x1x4x4xf32, #npu.memory<"fast">> {sram.output})
// PLAIN: @network(%x: memref<1x4x4x4xf32, #npu.memory<"fast">> {sram.input}, %y: memref<1x1x4x4xf32, #npu.memory<"slow">> {sram.output})
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, memory = [
    {name = "fast", bytes = 256 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 4096 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network(%x: memref<1x4x4x4xf32, #npu.sram> {sram.input},
                     %y: memref<1x1x4x4xf32, #npu.sram> {sram.output}) {
    // CHECK: memref.get_global @w : memref<1x4x3x3xf32, #npu.flash> {sram.kept_in = "fast"}
    // PLAIN: memref.get_global @w : memref<1x4x3x3xf32, #npu.flash>{{$}}
    %w = memref.get_global @w : memref<1x4x3x3xf32, #npu.flash>
    // CHECK-NEXT: memref.get_global @b : memref<1xf32, #npu.flash> {sram.kept_in = "fast"}
    %b = memref.get_global @b : memref<1xf32, #npu.flash>
    npu.conv2d ins(%x, %w, %b : memref<1x4x4x4xf32, #npu.sram>, memref<1x4x3x3xf32, #npu.flash>, memref<1xf32, #npu.flash>) outs(%y : memref<1x1x4x4xf32, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1]
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<1x4x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<1x4x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<1xf32>, sym_visibility = "private", constant}> : () -> ()
}
