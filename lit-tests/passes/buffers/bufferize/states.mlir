// RUN: npu-opt %s -p npu-bufferize | filecheck %s
// RUN: npu-opt %s -p 'npu-attach-target{target=zynq7020},npu-bufferize' | filecheck %s --check-prefix=DMA

// A state is one argument in the arena. It is written at the end, and read before that if another
// state or an output needs its old value.

// CHECK-LABEL: func.func @states(%x: memref<4xf32, #npu.sram> {sram.input},
// CHECK-SAME: %old: memref<4xf32, #npu.sram> {npu.name = "old", sram.output},
// CHECK-SAME: %a: memref<4xf32, #npu.sram> {npu.name = "a", npu.state = "a2", sram.input, sram.output},
// CHECK-SAME: %b: memref<4xf32, #npu.sram> {npu.name = "b", npu.state = "b2", sram.input, sram.output},
// CHECK-SAME: %c: memref<4xf32, #npu.sram> {npu.name = "c", npu.state = "c2", sram.input, sram.output}) {
// CHECK-NEXT: %y = sram.alloc
// CHECK-NEXT: npu.add ins(%a, %x : {{.*}}) outs(%y
// CHECK-NEXT: %[[OLD:.*]] = sram.alloc
// CHECK-NEXT: "memref.copy"(%a, %[[OLD]])
// CHECK-NEXT: "memref.copy"(%a, %old)
// CHECK-NEXT: "memref.copy"(%y, %a)
// CHECK-NEXT: "memref.copy"(%[[OLD]], %b)
// CHECK-NEXT: func.return
// DMA-LABEL: func.func @states(%x: memref<4xf32, #npu.dram> {dram.input},
// DMA-SAME: %old: memref<4xf32, #npu.dram> {npu.name = "old", dram.output},
// DMA-SAME: %a: memref<4xf32, #npu.sram> {npu.name = "a", npu.state = "a2", sram.input, sram.output},
// DMA: %y = sram.alloc
func.func @states(%a: tensor<4xf32> {npu.name = "a", npu.state = "a2"}, %x: tensor<4xf32>, %b: tensor<4xf32> {npu.name = "b", npu.state = "b2"}, %c: tensor<4xf32> {npu.name = "c", npu.state = "c2"})
    -> (tensor<4xf32> {npu.name = "a2", npu.state = "a2"}, tensor<4xf32> {npu.name = "b2", npu.state = "b2"}, tensor<4xf32> {npu.name = "c2", npu.state = "c2"}, tensor<4xf32> {npu.name = "old"}) {
  %y = npu.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %a, %c, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
