// RUN: npu-opt %s --allow-unregistered-dialect --pass-pipeline=npu-tile-loops | filecheck %s

// The pass says what it leaves alone. Loads and stores, views and transfers have no tiles.

builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 400 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {
  // CHECK-LABEL: func.func @f
  // CHECK: "other.op"(%x) {npu.not_tiled = "nobody says how it computes"}
  // CHECK: linalg.generic
  // CHECK-SAME: npu.not_tiled = "it has several outputs"
  // CHECK-NOT: npu.not_tiled
  func.func @f(%x: memref<8xf32, #npu.dram>, %y: memref<8xf32, #npu.dram>, %z: memref<8xf32, #npu.sram>) {
    "other.op"(%x) : (memref<8xf32, #npu.dram>) -> ()
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x, %y : memref<8xf32, #npu.dram>, memref<8xf32, #npu.dram>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %b, %a : f32, f32
    }
    %c0 = arith.constant 0 : index
    %0 = memref.load %x[%c0] : memref<8xf32, #npu.dram>
    %part = memref.subview %x[2] [4] [1] : memref<8xf32, #npu.dram> to memref<4xf32, strided<[1], offset: 2>, #npu.dram>
    %t = dma.start %x to %z channel 0 : memref<8xf32, #npu.dram> to memref<8xf32, #npu.sram>
    dma.wait %t
    "other.op"(%z) : (memref<8xf32, #npu.sram>) -> ()
    func.return
  }
}
