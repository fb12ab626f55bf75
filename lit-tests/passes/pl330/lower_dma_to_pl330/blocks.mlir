// RUN: npu-opt %s -p 'npu-attach-target{target=zynq7020},npu-lower-dma-to-pl330{blocks=core},pl330-check' | filecheck %s

// The core moves what is in blocks; all else has a program.
// CHECK-LABEL: func.func @both
// CHECK: dma.start %x to %t channel 0 blocks 4 zero 0 of %x, %i : memref
// CHECK: dma.start %{{.*}} channel 1 {pl330.program = @read_1x1x4x4}
// CHECK: pl330.program @read_1x1x4x4 channel 1
// CHECK-NOT: pl330.program
func.func @both(%x : memref<1x1x4x4xf32, #npu.dram>, %i : memref<1xi8, #npu.dram>, %t : memref<1x1x4x4xf32, #npu.sram>) {
  %s = dma.start %x to %t channel 0 blocks 4 zero 0 of %x, %i : memref<1x1x4x4xf32, #npu.dram> to memref<1x1x4x4xf32, #npu.sram> of memref<1x1x4x4xf32, #npu.dram>, memref<1xi8, #npu.dram>
  dma.wait %s
  %u = dma.start %x to %t channel 1 : memref<1x1x4x4xf32, #npu.dram> to memref<1x1x4x4xf32, #npu.sram>
  dma.wait %u
  func.return
}
