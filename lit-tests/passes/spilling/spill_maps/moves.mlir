// RUN: npu-opt %s --pass-pipeline=npu-spill-maps | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-spill-maps{sram-bytes=4096})' | filecheck %s --check-prefix=ROOM

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 256 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // `npu-keep-maps` will keep the map between the first two layers. So the two buffers become one; with
  // room for all, too.
  // CHECK-LABEL: func.func @one
  // CHECK: %map = dram.alloc
  // CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%map
  // CHECK-NEXT: npu.relu ins(%map
  // CHECK-NOT: memref.copy
  // ROOM-LABEL: func.func @one
  // ROOM: %map = sram.alloc
  // ROOM-NEXT: npu.relu ins(%x : {{.*}}) outs(%map
  // ROOM-NEXT: npu.relu ins(%map
  // ROOM-NOT: memref.copy
  func.func @one(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    %early = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%early : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%early : memref<1x64xi8, #npu.sram>) outs(%y : memref<1x64xi8, #npu.dram>)
    "memref.copy"(%early, %map) {npu.moves} : (memref<1x64xi8, #npu.sram>, memref<1x64xi8, #npu.sram>) -> ()
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

  // Something reads the target before the copy. So they are two buffers, and the copy stays.
  // CHECK-LABEL: func.func @two
  // CHECK: "memref.copy"(%early, %map) :
  // ROOM-LABEL: func.func @two
  // ROOM: "memref.copy"(%early, %map) :
  func.func @two(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    %early = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%early : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%early : memref<1x64xi8, #npu.sram>) outs(%y : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%map : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%y : memref<1x64xi8, #npu.dram>)
    "memref.copy"(%early, %map) {npu.moves} : (memref<1x64xi8, #npu.sram>, memref<1x64xi8, #npu.sram>) -> ()
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    func.return
  }

  // Something writes the source behind the copy, before it is read again.
  // CHECK-LABEL: func.func @changed
  // CHECK: "memref.copy"(%early, %map) :
  func.func @changed(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    %early = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%early : memref<1x64xi8, #npu.sram>)
    "memref.copy"(%early, %map) {npu.moves} : (memref<1x64xi8, #npu.sram>, memref<1x64xi8, #npu.sram>) -> ()
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%early : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%early : memref<1x64xi8, #npu.sram>) outs(%y : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    func.return
  }

  // Something writes the target while the source is still read.
  // CHECK-LABEL: func.func @overwritten
  // CHECK: "memref.copy"(%early, %map) :
  func.func @overwritten(%x : memref<1x64xi8, #npu.dram> {dram.input}, %y : memref<1x64xi8, #npu.dram> {dram.output}, %out : memref<1x64xi8, #npu.dram> {dram.output}) {
    %map = sram.alloc : memref<1x64xi8, #npu.sram>
    %early = sram.alloc : memref<1x64xi8, #npu.sram>
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%early : memref<1x64xi8, #npu.sram>)
    "memref.copy"(%early, %map) {npu.moves} : (memref<1x64xi8, #npu.sram>, memref<1x64xi8, #npu.sram>) -> ()
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%x : memref<1x64xi8, #npu.dram>) outs(%map : memref<1x64xi8, #npu.sram>)
    npu.relu ins(%early : memref<1x64xi8, #npu.sram>) outs(%y : memref<1x64xi8, #npu.dram>)
    npu.relu ins(%map : memref<1x64xi8, #npu.sram>) outs(%out : memref<1x64xi8, #npu.dram>)
    func.return
  }
}
