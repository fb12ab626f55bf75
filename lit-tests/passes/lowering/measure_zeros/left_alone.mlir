// RUN: npu-opt %s -p 'npu-attach-target{target=cortex-m4},npu-outline-layers,npu-measure-zeros' | filecheck %s
// RUN: npu-opt %s -p 'npu-outline-layers,npu-measure-zeros' | filecheck %s

// A core with an FPU does not compute faster with zeros, and no machine has no core.

// CHECK-LABEL: func.func @net
// CHECK:       func.call @r({{.*}}) {npu.layer = "r"}
func.func @net(%x: memref<4xf32, #npu.sram>, %y: memref<4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%y : memref<4xf32, #npu.sram>) {npu.layer = "r"}
  func.return
}
