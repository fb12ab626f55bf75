// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-attach-target{target=zynq7020},npu-lower-dma-to-pl330,pl330-check' | filecheck %s

// Rows of 64 bytes are one burst; rows and channels are the two loops. Both starts share the program: the second
// is 64 rows further, the third 1 column: only 4 bytes of the source are aligned.
// CHECK-LABEL: func.func @rows
// CHECK: dma.start %a to %t channel 1 {pl330.program = @read_1x4x8x16}
// CHECK: dma.start %b to %t channel 1 {pl330.program = @read_1x4x8x16}
// CHECK: dma.start %c to %t channel 1 {pl330.program = @read_1x4x8x16_1}
// CHECK: pl330.program @read_1x4x8x16 channel 1 moves 64 along [{{\[}}4, 512, 262144], [8, 64, 256]] source [8, 0] target [8, 0] attributes {pl330.bytes = 42 : i64}
// CHECK-NEXT: pl330.mov sar patched 0x00000000
// CHECK-NEXT: pl330.mov dar patched 0x00000000
// CHECK-NEXT: pl330.mov ccr src 8x8 inc dst 8x8 inc
// CHECK-NEXT: pl330.loop 4 {
// CHECK-NEXT: pl330.loop 8 {
// CHECK-NEXT: pl330.ld
// CHECK-NEXT: pl330.st
// CHECK-NEXT: pl330.addh sar 192
// CHECK-NEXT: }

// 260096 bytes to the next channel: more than an instruction can say.
// CHECK-NEXT: pl330.loop 4 {
// CHECK-NEXT: pl330.addh sar 65024
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: pl330.wmb
// CHECK-NEXT: pl330.sev 1
// CHECK-NEXT: pl330.end
// CHECK: pl330.program @read_1x4x8x16_1
// CHECK: pl330.mov ccr src 4x16 inc dst 8x8 inc
func.func @rows(%x : memref<1x4x1024x64xf32, #npu.dram>) {
  %t = sram.alloc at 64 : memref<1x4x8x16xf32, #npu.sram>
  %a = memref.subview %x[0, 0, 0, 0] [1, 4, 8, 16] [1, 1, 1, 1] : memref<1x4x1024x64xf32, #npu.dram> to memref<1x4x8x16xf32, strided<[262144, 65536, 64, 1]>, #npu.dram>
  %s0 = dma.start %a to %t channel 1 : memref<1x4x8x16xf32, strided<[262144, 65536, 64, 1]>, #npu.dram> to memref<1x4x8x16xf32, #npu.sram>
  dma.wait %s0
  %b = memref.subview %x[0, 0, 64, 0] [1, 4, 8, 16] [1, 1, 1, 1] : memref<1x4x1024x64xf32, #npu.dram> to memref<1x4x8x16xf32, strided<[262144, 65536, 64, 1], offset: 4096>, #npu.dram>
  %s1 = dma.start %b to %t channel 1 : memref<1x4x8x16xf32, strided<[262144, 65536, 64, 1], offset: 4096>, #npu.dram> to memref<1x4x8x16xf32, #npu.sram>
  dma.wait %s1
  %c = memref.subview %x[0, 0, 0, 1] [1, 4, 8, 16] [1, 1, 1, 1] : memref<1x4x1024x64xf32, #npu.dram> to memref<1x4x8x16xf32, strided<[262144, 65536, 64, 1], offset: 1>, #npu.dram>
  %s2 = dma.start %c to %t channel 1 : memref<1x4x8x16xf32, strided<[262144, 65536, 64, 1], offset: 1>, #npu.dram> to memref<1x4x8x16xf32, #npu.sram>
  dma.wait %s2
  func.return
}

// -----

// What an index can be decides: %i is even, %j is not. Elsewhere, only the elements are known to be aligned.
// CHECK-LABEL: func.func @indices
// CHECK: dma.start weights %a to %t channel 0 {pl330.program = @weights_32}
// CHECK: dma.start weights %b to %t channel 0 {pl330.program = @weights_32_1}
// CHECK: dma.start weights %m to %t channel 0 {pl330.program = @weights_32_1}
// CHECK: pl330.program @weights_32 channel 0
// CHECK: pl330.mov ccr src 8x16 inc dst 8x16 inc
// CHECK: pl330.program @weights_32_1 channel 0
// CHECK: pl330.mov ccr src 4x16 inc dst 8x8 inc
// CHECK-NEXT: pl330.ld
// CHECK-NEXT: pl330.st
// CHECK-NEXT: pl330.ld
// CHECK-NEXT: pl330.st
// CHECK-NEXT: pl330.wmb
func.func @indices(%x : memref<256xf32, #npu.dram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %t = sram.alloc at 0 : memref<32xf32, #npu.sram>
  scf.for %i = %c0 to %c8 step %c2 {
    %a = memref.subview %x[%i] [32] [1] : memref<256xf32, #npu.dram> to memref<32xf32, strided<[1], offset: ?>, #npu.dram>
    %s0 = dma.start weights %a to %t channel 0 : memref<32xf32, strided<[1], offset: ?>, #npu.dram> to memref<32xf32, #npu.sram>
    dma.wait %s0
  }
  scf.for %j = %c0 to %c8 step %c1 {
    %b = memref.subview %x[%j] [32] [1] : memref<256xf32, #npu.dram> to memref<32xf32, strided<[1], offset: ?>, #npu.dram>
    %s1 = dma.start weights %b to %t channel 0 : memref<32xf32, strided<[1], offset: ?>, #npu.dram> to memref<32xf32, #npu.sram>
    dma.wait %s1
  }
  %m = "test.op"() : () -> memref<32xf32, #npu.dram>
  %s2 = dma.start weights %m to %t channel 0 : memref<32xf32, #npu.dram> to memref<32xf32, #npu.sram>
  dma.wait %s2
  func.return
}

// -----

// 132 bytes from an address 4 beyond a multiple of 8: a head, and 16 beats of 8 bytes.
// CHECK-LABEL: func.func @head
// CHECK: pl330.program @write_33 channel 3
// CHECK: pl330.mov ccr src 4x1 inc dst 4x1 inc
// CHECK-NEXT: pl330.ld
// CHECK-NEXT: pl330.st
// CHECK-NEXT: pl330.mov ccr src 8x16 inc dst 8x16 inc
// CHECK-NEXT: pl330.ld
// CHECK-NEXT: pl330.st
// CHECK-NEXT: pl330.wmb
func.func @head(%x : memref<64xf32, #npu.dram>) {
  %t = sram.alloc at 12 : memref<33xf32, #npu.sram>
  %a = memref.subview %x[7] [33] [1] : memref<64xf32, #npu.dram> to memref<33xf32, strided<[1], offset: 7>, #npu.dram>
  %s = dma.start %t to %a channel 3 : memref<33xf32, #npu.sram> to memref<33xf32, strided<[1], offset: 7>, #npu.dram>
  dma.wait %s
  func.return
}

// -----

// 12500 beats of 8 bytes: more than 256 bursts, and 4 beats that are left.
// CHECK-LABEL: func.func @long
// CHECK: pl330.program @weights_25000 channel 0 moves 100000 along [] source [8, 0] target [8, 0] attributes {pl330.bytes = 40 : i64}
// CHECK: pl330.loop 11 {
// CHECK-NEXT: pl330.loop 71 {
// CHECK-NEXT: pl330.ld
// CHECK: pl330.mov ccr src 8x4 inc dst 8x4 inc
// CHECK-NEXT: pl330.ld
func.func @long(%x : memref<25000xf32, #npu.dram>) {
  %t = sram.alloc at 0 : memref<25000xf32, #npu.sram>
  %s = dma.start weights %x to %t channel 0 : memref<25000xf32, #npu.dram> to memref<25000xf32, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// An argument that is a view of something may begin at any element.
// CHECK-LABEL: func.func private @view
// CHECK: pl330.program @read_2 channel 0
// CHECK: pl330.mov ccr src 4x2 inc dst 8x1 inc
func.func private @view(%x : memref<2xf32, strided<[1], offset: ?>, #npu.dram>) {
  %t = sram.alloc at 0 : memref<2xf32, #npu.sram>
  %s = dma.start %x to %t channel 0 : memref<2xf32, strided<[1], offset: ?>, #npu.dram> to memref<2xf32, #npu.sram>
  dma.wait %s
  func.return
}

// -----

// No transfers, no programs.
// CHECK-LABEL: func.func @still
// CHECK-NOT: pl330
// CHECK: func.return
func.func @still(%x : memref<4xf32, #npu.dram>) {
  dma.reads %x : memref<4xf32, #npu.dram>
  func.return
}
