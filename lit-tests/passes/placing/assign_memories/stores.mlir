// RUN: npu-opt %s -p npu-assign-memories | filecheck %s
// RUN: npu-opt %s -p npu-assign-memories{together=true} | filecheck %s --check-prefix=BLOCK
// RUN: npu-opt %s -p 'npu-assign-memories{constants=true}' | filecheck %s --check-prefix=KEPT

// Several read-only memories: the fast one has room for the weights (144 bytes) or the bias, of
// which the weights are read more. Beside one memory buffers stay in #npu.sram. With copies, the
// bias gains, as it lies in the slow flash, and the weights do not, as the fast one is faster.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4240 : i64, memory = [
    {name = "ram", bytes = 325 : i64, read_bytes_per_cycle = 2 : i64},
    {name = "rom", bytes = 144 : i64, read_bytes_per_cycle = 4 : i64, read_only = true},
    {name = "xip", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  // CHECK: @network(%x: memref<1x4x4x4xf32, #npu.sram> {sram.input}
  func.func @network(%x: memref<1x4x4x4xf32, #npu.sram> {sram.input},
                     %y: memref<1x1x4x4xf32, #npu.sram> {sram.output}) {
    // CHECK: memref.get_global @w : memref<1x4x3x3xf32, #npu.flash> {npu.stored_in = "rom"}
    // BLOCK: memref.get_global @w : memref<1x4x3x3xf32, #npu.flash> {npu.stored_in = "xip"}
    // KEPT: memref.get_global @w : memref<1x4x3x3xf32, #npu.flash> {npu.stored_in = "rom"}
    %w = memref.get_global @w : memref<1x4x3x3xf32, #npu.flash>
    // CHECK-NEXT: memref.get_global @b : memref<1xf32, #npu.flash> {npu.stored_in = "xip"}
    // BLOCK-NEXT: memref.get_global @b : memref<1xf32, #npu.flash> {npu.stored_in = "xip"}
    // KEPT-NEXT: memref.get_global @b : memref<1xf32, #npu.flash> {{{.*}}sram.kept_in = "ram"
    %b = memref.get_global @b : memref<1xf32, #npu.flash>
    npu.conv2d ins(%x, %w, %b : memref<1x4x4x4xf32, #npu.sram>, memref<1x4x3x3xf32, #npu.flash>, memref<1xf32, #npu.flash>) outs(%y : memref<1x1x4x4xf32, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1]
    func.return
  }
  "memref.global"() <{sym_name = "w", type = memref<1x4x3x3xf32, #npu.flash>, initial_value = dense<1.0> : tensor<1x4x3x3xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<1xf32, #npu.flash>, initial_value = dense<1.0> : tensor<1xf32>, sym_visibility = "private", constant}> : () -> ()
}
