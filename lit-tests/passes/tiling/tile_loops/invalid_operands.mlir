// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=zynq7020},npu-tile-loops)' --verify-diagnostics --split-input-file | filecheck %s

// CHECK-LABEL: npu-tile-loops: r: expected operands with at least 1 element, got memref<0x5xf32, #npu.dram>
func.func @empty(%x: memref<0x5xf32, #npu.dram>, %y: memref<0x5xf32, #npu.dram>) {
  npu.relu ins(%x : memref<0x5xf32, #npu.dram>) outs(%y : memref<0x5xf32, #npu.dram>) {npu.layer = "r"}
  func.return
}

// -----

// CHECK: npu-tile-loops: memref.copy: expected operands with at least 1 element, got memref<0x5xf32, #npu.dram>
func.func @empty_copy(%x: memref<0x5xf32, #npu.dram>, %y: memref<0x5xf32, #npu.sram>) {
  "memref.copy"(%x, %y) : (memref<0x5xf32, #npu.dram>, memref<0x5xf32, #npu.sram>) -> ()
  func.return
}

// -----

// CHECK: npu-tile-loops: r: expected operands with static strides, got memref<4x5xf32, strided<[?, 1]>, #npu.dram>
func.func @strides(%x: memref<4x5xf32, strided<[?, 1]>, #npu.dram>, %y: memref<4x5xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4x5xf32, strided<[?, 1]>, #npu.dram>) outs(%y : memref<4x5xf32, #npu.sram>) {npu.layer = "r"}
  func.return
}

// -----

// CHECK: npu-tile-loops: r: expected operands with static strides, got memref<4x5xf32, affine_map<(d0, d1) -> (d1, d0)>, #npu.dram>
func.func @layout(%x: memref<4x5xf32, #npu.sram>, %y: memref<4x5xf32, affine_map<(d0, d1) -> (d1, d0)>, #npu.dram>) {
  npu.relu ins(%x : memref<4x5xf32, #npu.sram>) outs(%y : memref<4x5xf32, affine_map<(d0, d1) -> (d1, d0)>, #npu.dram>) {npu.layer = "r"}
  func.return
}

// -----

// CHECK: npu-tile-loops: expected on-chip elements of a known size, got index
func.func @no_size(%x: memref<5xindex, #npu.dram>, %y: memref<5xindex, #npu.dram>) {
  "memref.copy"(%x, %y) : (memref<5xindex, #npu.dram>, memref<5xindex, #npu.dram>) -> ()
  func.return
}
