// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-outline-layers)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-outline-layers,npu-outline-layers)' | filecheck %s

// Offsets stay with the caller; a buffer that is overwritten in place is one argument.
// CHECK-LABEL: func.func @network
// CHECK: [[A:%\w+]] = sram.alloc at 64 :
// CHECK-NEXT: func.call @conv1(%x, %w, %b, [[A]]) {npu.layer = "/conv1", npu.value = "c1_out"} :
// CHECK-SAME: (memref<1x1x4x4xf32, #npu.sram>, memref<2x1x1x1xf32, #npu.flash>, memref<2xf32, #npu.flash>, memref<1x2x2x2xf32, #npu.sram>) -> ()
// CHECK-NEXT: func.call @relu([[A]]) : (memref<1x2x2x2xf32, #npu.sram>) -> ()
// CHECK-NEXT: func.call @relu_1(%y, [[A]]) :
// CHECK-NEXT: func.call @sum([[A]], %y) {npu.layer = "sum"} :
// CHECK-NEXT: func.call @double(%y, [[A]]) {npu.layer = "double"} :
// CHECK-NEXT: func.call @concat(%y, [[A]], %z) :
// CHECK-NEXT: func.return

// CHECK: func.func private @conv1(%ifm: memref<1x1x4x4xf32, #npu.sram>, %weight: memref<2x1x1x1xf32, #npu.flash>, %bias: memref<2xf32, #npu.flash>, %ofm: memref<1x2x2x2xf32, #npu.sram>)
// CHECK-SAME: attributes {npu.layer = "/conv1", npu.what = "npu.conv2d strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2]"}
// CHECK-NEXT: npu.conv2d ins(%ifm, %weight, %bias :
// CHECK-SAME: outs(%ofm : memref<1x2x2x2xf32, #npu.sram>)
// CHECK-NEXT: func.return
// CHECK: func.func private @relu(%ofm: memref<1x2x2x2xf32, #npu.sram>) attributes {npu.what = "npu.relu"}
// CHECK-NEXT: npu.relu ins(%ofm : {{.*}}) outs(%ofm :
// CHECK: func.func private @relu_1(%ifm: {{.*}}, %ofm:
// CHECK: func.func private @sum(%lhs: {{.*}}, %ofm: {{.*}}) attributes {npu.layer = "sum", npu.what = "npu.add"}
// CHECK-NEXT: npu.add ins(%lhs, %ofm : {{.*}}) outs(%ofm :
// CHECK: func.func private @double(%rhs: {{.*}}, %ofm:
// CHECK-NEXT: npu.add ins(%rhs, %rhs :
// CHECK: func.func private @concat(%parts0: {{.*}}, %parts1: {{.*}}, %ofm: {{.*}}) attributes {npu.what = "npu.concat axis 1"}
func.func @network(%x: memref<1x1x4x4xf32, #npu.sram>, %w: memref<2x1x1x1xf32, #npu.flash>, %b: memref<2xf32, #npu.flash>, %y: memref<1x2x2x2xf32, #npu.sram>, %z: memref<1x4x2x2xf32, #npu.sram>) {
  %a = sram.alloc at 64 : memref<1x2x2x2xf32, #npu.sram>
  npu.conv2d ins(%x, %w, %b : memref<1x1x4x4xf32, #npu.sram>, memref<2x1x1x1xf32, #npu.flash>, memref<2xf32, #npu.flash>) outs(%a : memref<1x2x2x2xf32, #npu.sram>) strides [1, 1] pads [0, 0, 0, 0] then relu then max_pool [2, 2] by [2, 2] {npu.layer = "/conv1", npu.value = "c1_out"}
  npu.relu ins(%a : memref<1x2x2x2xf32, #npu.sram>) outs(%a : memref<1x2x2x2xf32, #npu.sram>)
  npu.relu ins(%y : memref<1x2x2x2xf32, #npu.sram>) outs(%a : memref<1x2x2x2xf32, #npu.sram>)
  npu.add ins(%a, %y : memref<1x2x2x2xf32, #npu.sram>, memref<1x2x2x2xf32, #npu.sram>) outs(%y : memref<1x2x2x2xf32, #npu.sram>) {npu.layer = "sum"}
  npu.add ins(%y, %y : memref<1x2x2x2xf32, #npu.sram>, memref<1x2x2x2xf32, #npu.sram>) outs(%a : memref<1x2x2x2xf32, #npu.sram>) {npu.layer = "double"}
  npu.concat ins(%y, %a : memref<1x2x2x2xf32, #npu.sram>, memref<1x2x2x2xf32, #npu.sram>) outs(%z : memref<1x4x2x2xf32, #npu.sram>) axis 1
  func.return
}

// A name that is taken, by a function or a global, gets a number.
// CHECK-LABEL: func.func @taken
// CHECK: func.call @network_1(%x)
// CHECK-NEXT: func.call @weights_1(%x)
func.func @taken(%x: memref<4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>) {npu.layer = "network"}
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>) {npu.layer = "weights"}
  func.return
}
"memref.global"() <{sym_name = "weights", type = memref<4xf32>, initial_value = dense<0.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()

// A layer in a loop becomes a call in the loop.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NEXT: func.call @relu_2(%x)
func.func @loop(%x: memref<4xf32, #npu.sram>, %n: index) {
  scf.for %i = %n to %n step %n {
    npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>)
  }
  func.return
}
