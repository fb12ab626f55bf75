// RUN: npu-opt %s --pass-pipeline=npu-split-lives | filecheck %s
// RUN: npu-opt %s --pass-pipeline=npu-split-lives,npu-spill-maps | filecheck %s --check-prefix=SETTLED

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 256 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // The concatenation is larger than the chip. Its first part, which a layer changes, has a buffer of
  // its own; the second one, which no layer reads, has none. The store of the part is one copy.
  // CHECK-LABEL: func.func @part
  // CHECK: [[PART:%.*]] = memref.subview %all[0, 0]
  // CHECK: %all_1 = sram.alloc : memref<1x64xi8, #npu.sram>
  // CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%all_1
  // CHECK-NEXT: npu.relu ins(%z : {{.*}}) outs(%b
  // CHECK-NEXT: npu.add ins(%all_1, %x : {{.*}}) outs(%all_1
  // CHECK-NEXT: "memref.copy"(%all_1, [[PART]]) {npu.layer = "second", npu.moves}
  // CHECK-NEXT: npu.relu ins(%all
  // CHECK-NOT: memref.copy
  // SETTLED-LABEL: func.func @part
  // SETTLED-SAME: npu.spilled_bytes = 640
  // SETTLED: %all = dram.alloc
  // SETTLED: %all_1 = sram.alloc
  // SETTLED: npu.add ins(%all_1, %x : {{.*}}) outs(%all_1
  // SETTLED-NEXT: "memref.copy"(%all_1, %a) {npu.layer = "second"} :
  func.func @part(%x : memref<1x64xi8, #npu.sram> {sram.input}, %z : memref<4x64xi8, #npu.dram> {dram.input}, %out : memref<5x64xi8, #npu.dram> {dram.output}) {
    %all = sram.alloc : memref<5x64xi8, #npu.sram>
    %a = memref.subview %all[0, 0] [1, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<1x64xi8, strided<[64, 1]>, #npu.sram>
    %b = memref.subview %all[1, 0] [4, 64] [1, 1] : memref<5x64xi8, #npu.sram> to memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "first"}
    npu.relu ins(%z : memref<4x64xi8, #npu.dram>) outs(%b : memref<4x64xi8, strided<[64, 1], offset: 64>, #npu.sram>)
    npu.add ins(%a, %x : memref<1x64xi8, strided<[64, 1]>, #npu.sram>, memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, strided<[64, 1]>, #npu.sram>) {npu.layer = "second"}
    npu.relu ins(%all : memref<5x64xi8, #npu.sram>) outs(%out : memref<5x64xi8, #npu.dram>)
    func.return
  }

  // A loop reads the map soon, and a layer much later. The store starts behind the writer.
  // CHECK-LABEL: func.func @life
  // CHECK: %map = sram.alloc
  // CHECK-NEXT: %map_1 = sram.alloc : memref<1x64xi8, #npu.sram>
  // CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%map_1
  // CHECK: memref.subview %map_1[0, %i]
  // CHECK: }
  // CHECK-NEXT: "memref.copy"(%map_1, %map) {npu.layer = "first", npu.moves}
  // CHECK: npu.relu ins(%map : {{.*}}) outs(%out
  // SETTLED-LABEL: func.func @life
  // SETTLED-SAME: npu.spilled_bytes = 328
  // SETTLED: %map = dram.alloc
  // SETTLED-NEXT: %map_1 = sram.alloc
  // SETTLED-NEXT: npu.relu ins(%x : {{.*}}) outs(%map_1
  // SETTLED-NEXT: "memref.copy"(%map_1, %map) {npu.layer = "first"} :
  // SETTLED-NEXT: scf.for
  // SETTLED-NEXT: memref.subview %map_1[0, %i]
  // SETTLED: npu.relu ins(%map : {{.*}}) outs(%out
  func.func @life(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x16xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%map : memref<1x64xi8, #npu.sram>) {npu.layer = "first"}
    scf.for %i = %c0 to %c64 step %c16 {
      %some = memref.subview %map[0, %i] [1, 16] [1, 1] : memref<1x64xi8, #npu.sram> to memref<1x16xi8, strided<[64, 1], offset: ?>, #npu.sram>
      npu.relu ins(%some : memref<1x16xi8, strided<[64, 1], offset: ?>, #npu.sram>) outs(%y : memref<1x16xi8, #npu.dram>)
    }
    %p = sram.alloc : memref<1x100xi8, #npu.sram>
    %q = sram.alloc : memref<1x100xi8, #npu.sram>
    %r = sram.alloc : memref<1x100xi8, #npu.sram>
    npu.relu ins(%r : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%p : memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%q : memref<1x100xi8, #npu.sram>) outs(%p : memref<1x100xi8, #npu.sram>)
    npu.add ins(%q, %r : memref<1x100xi8, #npu.sram>, memref<1x100xi8, #npu.sram>) outs(%q : memref<1x100xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    func.return
  }
}
