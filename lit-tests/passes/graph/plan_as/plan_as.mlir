// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-as)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-as{type=f16})' | filecheck %s --check-prefix=HALF
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-as{type=i16},npu-fuse-conv-relu-pool)' | filecheck %s --check-prefix=FUSED

// Types change everywhere, values become zero, clauses and names stay, and the module says so.
// CHECK-LABEL: builtin.module attributes {npu.planned_as = i8}
// CHECK: func.func @lenet_start(%x: tensor<1x1x8x8xi8> {npu.name = "input"}) -> (tensor<1x2x3x3xi8> {npu.name = "output"})
// CHECK-NEXT: [[W:%\w+]] = arith.constant dense<0> : tensor<2x1x3x3xi8>
// CHECK-NEXT: [[C:%\w+]] = npu.conv2d %x, [[W]] strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "c1"} : (tensor<1x1x8x8xi8>, tensor<2x1x3x3xi8>) -> tensor<1x2x6x6xi8>
// CHECK-NEXT: npu.max_pool2d [[C]] kernel [2, 2] strides [2, 2] : tensor<1x2x6x6xi8> -> tensor<1x2x3x3xi8>
// HALF-LABEL: builtin.module attributes {npu.planned_as = f16}
// HALF: arith.constant dense<0.000000e+00> : tensor<2x1x3x3xf16>
// FUSED-LABEL: builtin.module attributes {npu.planned_as = i16}
// FUSED: npu.conv2d {{.*}} then relu then max_pool [2, 2] by [2, 2] {{.*}} -> tensor<1x2x3x3xi16>
func.func @lenet_start(%x: tensor<1x1x8x8xf32> {npu.name = "input"}) -> (tensor<1x2x3x3xf32> {npu.name = "output"}) {
  %w = arith.constant dense<1.5> : tensor<2x1x3x3xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] then relu {npu.layer = "c1"} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32>
  %p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] : tensor<1x2x6x6xf32> -> tensor<1x2x3x3xf32>
  func.return %p : tensor<1x2x3x3xf32>
}

// Regions, calls and other dialects are no obstacle.
// CHECK-LABEL: func.func @caller(%x: tensor<4xi8>, %n: index) -> tensor<4xi8>
// CHECK: func.call @callee(%x) : (tensor<4xi8>) -> tensor<4xi8>
// CHECK: scf.for {{.*}} iter_args([[A:%\w+]] = {{%\w+}}) -> (tensor<4xi8>)
// CHECK-NEXT: npu.add [[A]], [[A]] : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
// CHECK: func.func private @callee(tensor<4xi8>) -> tensor<4xi8>
func.func @caller(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %y = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = scf.for %i = %n to %n step %n iter_args(%a = %y) -> (tensor<4xf32>) {
    %b = npu.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  func.return %z : tensor<4xf32>
}
func.func private @callee(tensor<4xf32>) -> tensor<4xf32>

// What is no tensor of f32 stays.
// CHECK-LABEL: func.func @others(%x: tensor<4xi32>, %y: f32, %z: memref<4xf32>)
// CHECK: arith.constant dense<2> : tensor<4xi32>
// CHECK: arith.constant 1.500000e+00 : f32
// CHECK: npu.relu %x : tensor<4xi32> -> tensor<4xi32>
func.func @others(%x: tensor<4xi32>, %y: f32, %z: memref<4xf32>) {
  %c = arith.constant dense<2> : tensor<4xi32>
  %f = arith.constant 1.5 : f32
  %r = npu.relu %x : tensor<4xi32> -> tensor<4xi32>
  func.return
}

// Layers are planned with elements that they are not computed for.
// CHECK-LABEL: func.func @arithmetic
// CHECK: npu.binary %x, %x with pow : (tensor<1x3xi8>, tensor<1x3xi8>) -> tensor<1x3xi8>
// CHECK: npu.reduce {{.*}} with l2 axes [1] : tensor<1x3xi8> -> tensor<1x1xi8>
// CHECK: npu.binary {{.*}} with less : (tensor<1x3xi8>, tensor<1x1xi8>) -> tensor<1x3xui8>
// CHECK: npu.where {{.*}} : (tensor<1x3xui8>, tensor<1x3xi8>, tensor<1x1xi8>) -> tensor<1x3xi8>
func.func @arithmetic(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %p = npu.binary %x, %x with pow : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  %n = npu.reduce %p with l2 axes [1] : tensor<1x3xf32> -> tensor<1x1xf32>
  %m = npu.binary %p, %n with less : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x3xui8>
  %y = npu.where %m, %p, %n : (tensor<1x3xui8>, tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}
