// RUN: NPU_DIAGNOSTICS

// CHECK: expected 2 pads before and behind the axes
func.func @pads(%x: tensor<2x4xf32>, %f: f32) {
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } : tensor<2x4xf32> to tensor<4x6xf32>
  func.return
}
