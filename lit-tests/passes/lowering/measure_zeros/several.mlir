// RUN: npu-opt %s -p 'npu-attach-target{target=fe310},npu-outline-layers,npu-measure-zeros' | filecheck %s

// Nobody says in which order the functions of a network run that gets its input in parts.

// CHECK-LABEL: func.func @first
// CHECK:       func.call @r({{.*}}) {npu.layer = "r"}
func.func @first(%x: memref<4xf32, #npu.sram>, %y: memref<4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%y : memref<4xf32, #npu.sram>) {npu.layer = "r"}
  func.return
}
func.func @last() {
  func.return
}
