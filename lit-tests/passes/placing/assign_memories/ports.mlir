// RUN: npu-opt %s -p npu-assign-memories | filecheck %s --check-prefix=ANY
// RUN: npu-opt %s -p 'npu-assign-memories{ports=dma}' | filecheck %s --check-prefix=DMA

// A peripheral that writes the input in place needs it in a memory that its DMA engine reaches. A
// buffer that is in a memory already stays there.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "tcm", bytes = 512 : i64, read_bytes_per_cycle = 8 : i64, dma = false},
    {name = "axi", bytes = 512 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  // ANY-LABEL: @f
  // ANY-SAME: %x: memref<4xf32, #npu.memory<"tcm">>
  // ANY-SAME: %y: memref<4xf32, #npu.memory<"axi">>
  // DMA-LABEL: @f
  // DMA-SAME: %x: memref<4xf32, #npu.memory<"axi">>
  // DMA-SAME: %y: memref<4xf32, #npu.memory<"axi">>
  func.func @f(%x: memref<4xf32, #npu.sram> {sram.input},
               %y: memref<4xf32, #npu.memory<"axi">> {sram.output}) {
    // ANY: %a = sram.alloc : memref<4xf32, #npu.memory<"tcm">>
    // DMA: %a = sram.alloc : memref<4xf32, #npu.memory<"tcm">>
    %a = sram.alloc : memref<4xf32, #npu.sram>
    npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%a : memref<4xf32, #npu.sram>)
    npu.relu ins(%a : memref<4xf32, #npu.sram>) outs(%y : memref<4xf32, #npu.memory<"axi">>)
    func.return
  }
}
