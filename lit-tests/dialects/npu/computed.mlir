// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt | filecheck %s

// An op of another dialect as a layer. It may start from an operand, or from nothing.

// CHECK-LABEL: func.func @layers
// CHECK: %y = npu.computed %x {npu.layer = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x8xf32>):
// CHECK-NEXT: linalg.exp ins({{.*}} : tensor<4x8xf32>) outs({{.*}} : tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: npu.yield
// CHECK: %z = npu.computed %y, %w, %x : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
func.func @layers(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = npu.computed %x {npu.layer = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = linalg.exp ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    npu.yield %0 : tensor<4x8xf32>
  }
  %z = npu.computed %y, %w, %x : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<4x8xf32>):
    %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
    npu.yield %0 : tensor<4x8xf32>
  }
  func.return %z : tensor<4x8xf32>
}
