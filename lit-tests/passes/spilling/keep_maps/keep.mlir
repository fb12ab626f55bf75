// RUN: npu-opt %s --pass-pipeline=npu-keep-maps | filecheck %s

// It rejects nothing but what `npu-assign-sram-offsets` does (`rejects.mlir`).

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 256 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // A part of a concatenation is stored once, and its reader finds it on chip. Meanwhile another part
  // is written.
  // CHECK-LABEL: func.func @part
  // CHECK: [[PART:%.*]] = memref.subview %all[0, 0]
  // CHECK: %a_1 = sram.alloc : memref<1x64xi8, #npu.sram>
  // CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%a_1
  // CHECK-NEXT: "memref.copy"(%a_1, [[PART]]) {npu.layer = "first"}
  // CHECK: npu.relu ins(%x : {{.*}}) outs(%{{.*}} : memref<1x64xi8, strided<[64, 1], offset: 64>, #npu.dram>)
  // CHECK-NEXT: npu.relu ins(%a_1 : {{.*}}) outs(%y
  // CHECK-NEXT: npu.relu ins(%all : {{.*}}) outs(%out
  func.func @part(%x : memref<1x64xi8, #npu.sram> {sram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}, %out : memref<2x64xi8, #npu.dram> {dram.output}) {
    %all = dram.alloc : memref<2x64xi8, #npu.dram>
    %a = memref.subview %all[0, 0] [1, 64] [1, 1] : memref<2x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1]>, #npu.dram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.dram>) {npu.layer = "first"}
    %b = memref.subview %all[1, 0] [1, 64] [1, 1] : memref<2x64xi8, #npu.dram> to memref<1x64xi8, strided<[64, 1], offset: 64>, #npu.dram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%b : memref<1x64xi8, strided<[64, 1], offset: 64>, #npu.dram>)
    npu.relu ins(%a : memref<1x64xi8, strided<[64, 1]>, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%all : memref<2x64xi8, #npu.dram>) outs(%out : memref<2x64xi8, #npu.dram>)
    func.return
  }

  // An input of two layers is loaded once. The order of its axes in memory stays.
  // CHECK-LABEL: func.func @read
  // CHECK: %x_1 = sram.alloc : memref<8x8xi8, strided<[1, 8]>, #npu.sram>
  // CHECK-NEXT: "memref.copy"(%x, %x_1) {npu.layer = "one"}
  // CHECK-NEXT: npu.relu ins(%x_1
  // CHECK-NEXT: npu.relu ins(%x_1
  // CHECK-NOT: memref.copy
  func.func @read(%x : memref<8x8xi8, strided<[1, 8]>, #npu.dram> {dram.input}, %y : memref<8x8xi8, strided<[1, 8]>, #npu.sram> {sram.output}, %z : memref<8x8xi8, strided<[1, 8]>, #npu.dram> {dram.output}) {
    npu.relu ins(%x : memref<8x8xi8, strided<[1, 8]>, #npu.dram>) outs(%y : memref<8x8xi8, strided<[1, 8]>, #npu.sram>) {npu.layer = "one"}
    npu.relu ins(%x : memref<8x8xi8, strided<[1, 8]>, #npu.dram>) outs(%z : memref<8x8xi8, strided<[1, 8]>, #npu.dram>)
    func.return
  }

  // 64 bytes less are loaded of a map that has left the chip. The loop reads it there.
  // CHECK-LABEL: func.func @spilled
  // CHECK-SAME: npu.spilled_bytes = 128
  // CHECK: "memref.copy"(%map_1, %map)
  // CHECK-NEXT: npu.relu ins(%map_1
  // CHECK-NEXT: scf.for
  func.func @spilled(%x : memref<1x64xi8, #npu.sram> {sram.input}, %y : memref<1x64xi8, #npu.sram> {sram.output}) attributes {npu.spilled_bytes = 192 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %map = dram.alloc : memref<1x64xi8, #npu.dram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%map : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    scf.for %i = %c0 to %c1 step %c1 {
      npu.relu ins(%map : memref<1x64xi8, #npu.dram>) outs(%y : memref<1x64xi8, #npu.sram>)
    }
    func.return
  }

  // There is room for one of the two maps, and it is kept as long as it is read.
  // CHECK-LABEL: func.func @one_of_two
  // CHECK: %large_1 = sram.alloc
  // CHECK-COUNT-3: npu.relu ins(%large_1
  // CHECK-NOT: sram.alloc
  func.func @one_of_two(%small : memref<1x160xi8, #npu.dram> {dram.input}, %large : memref<1x128xi8, #npu.dram> {dram.input}, %y : memref<1x160xi8, #npu.dram> {dram.output}, %z : memref<1x128xi8, #npu.dram> {dram.output}) {
    npu.relu ins(%small : memref<1x160xi8, #npu.dram>) outs(%y : memref<1x160xi8, #npu.dram>)
    npu.relu ins(%large : memref<1x128xi8, #npu.dram>) outs(%z : memref<1x128xi8, #npu.dram>)
    npu.relu ins(%large : memref<1x128xi8, #npu.dram>) outs(%z : memref<1x128xi8, #npu.dram>)
    npu.relu ins(%small : memref<1x160xi8, #npu.dram>) outs(%y : memref<1x160xi8, #npu.dram>)
    npu.relu ins(%large : memref<1x128xi8, #npu.dram>) outs(%z : memref<1x128xi8, #npu.dram>)
    func.return
  }
}
