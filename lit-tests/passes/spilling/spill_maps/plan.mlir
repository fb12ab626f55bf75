// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-spill-maps{by=plan})' | filecheck %s

// What npu-plan-modules has decided: maps that are not forwarded leave, and those of layers outside modules
// (no npu.forward), however much memory there is.

builtin.module attributes {npu.target = #npu.target<"large", {sram_bytes = 1048576 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}>} {

// CHECK-LABEL: func.func @modules
// CHECK-SAME: npu.spilled_bytes = 512
// CHECK: %stem = dram.alloc
// CHECK: %kept = sram.alloc
// CHECK: %sent = dram.alloc
// CHECK: %sum = sram.alloc
// CHECK: npu.relu ins(%sum {{.*}} outs(%sum
func.func @modules(%x: memref<32xf32, #npu.dram> {dram.input}, %y: memref<32xf32, #npu.dram> {dram.output}) {
  %stem = sram.alloc : memref<32xf32, #npu.sram>
  npu.relu ins(%x : memref<32xf32, #npu.dram>) outs(%stem : memref<32xf32, #npu.sram>)
  %kept = sram.alloc : memref<32xf32, #npu.sram>
  npu.relu ins(%stem : memref<32xf32, #npu.sram>) outs(%kept : memref<32xf32, #npu.sram>) {npu.forward = true}
  %sent = sram.alloc : memref<32xf32, #npu.sram>
  npu.relu ins(%kept : memref<32xf32, #npu.sram>) outs(%sent : memref<32xf32, #npu.sram>) {npu.forward = false}
  // The merge, and an activation in place behind it, have no say in what the branch has decided.
  %sum = sram.alloc : memref<32xf32, #npu.sram>
  npu.relu ins(%kept : memref<32xf32, #npu.sram>) outs(%sum : memref<32xf32, #npu.sram>) {npu.forward = true}
  npu.add ins(%sum, %sent : memref<32xf32, #npu.sram>, memref<32xf32, #npu.sram>) outs(%sum : memref<32xf32, #npu.sram>)
  npu.relu ins(%sum : memref<32xf32, #npu.sram>) outs(%sum : memref<32xf32, #npu.sram>)
  npu.relu ins(%sum : memref<32xf32, #npu.sram>) outs(%y : memref<32xf32, #npu.dram>)
  func.return
}

// A concatenation in place leaves if one of its slices does.
// CHECK-LABEL: func.func @slices
// CHECK: %all = dram.alloc
// CHECK: %one = sram.alloc
func.func @slices(%x: memref<2xf32, #npu.dram> {dram.input}, %y: memref<4xf32, #npu.dram> {dram.output}) {
  %all = sram.alloc : memref<4xf32, #npu.sram>
  %a = memref.subview %all[0] [2] [1] : memref<4xf32, #npu.sram> to memref<2xf32, strided<[1]>, #npu.sram>
  %b = memref.subview %all[2] [2] [1] : memref<4xf32, #npu.sram> to memref<2xf32, strided<[1], offset: 2>, #npu.sram>
  %one = sram.alloc : memref<2xf32, #npu.sram>
  npu.relu ins(%x : memref<2xf32, #npu.dram>) outs(%one : memref<2xf32, #npu.sram>) {npu.forward = true}
  npu.relu ins(%one : memref<2xf32, #npu.sram>) outs(%a : memref<2xf32, strided<[1]>, #npu.sram>) {npu.forward = true}
  npu.relu ins(%one : memref<2xf32, #npu.sram>) outs(%b : memref<2xf32, strided<[1], offset: 2>, #npu.sram>) {npu.forward = false}
  npu.relu ins(%all : memref<4xf32, #npu.sram>) outs(%y : memref<4xf32, #npu.dram>)
  func.return
}

}
