// RUN: NPU_ROUNDTRIP

// Pads may be operands where the result has a static shape.

// CHECK-LABEL: func.func @pads
// CHECK: tensor.pad %x low[%c, 0] high[%c, 2] {
// CHECK: tensor<2x4xf32> to tensor<4x6xf32>
func.func @pads(%x: tensor<2x4xf32>) {
  %c = arith.constant 1 : index
  %f = arith.constant 0.0 : f32
  %p = tensor.pad %x low[%c, 0] high[%c, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } : tensor<2x4xf32> to tensor<4x6xf32>
  func.return
}
