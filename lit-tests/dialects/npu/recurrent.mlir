// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @recurrent
// GENERIC-LABEL: sym_name = "recurrent"
func.func @recurrent(%g: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>,
                     %g3: tensor<5x2x12xf32>, %r3: tensor<12x4xf32>, %b: tensor<4xf32>,
                     %g4: tensor<5x2x16xf32>, %r4: tensor<16x4xf32>, %p: tensor<12xf32>,
                     %m: memref<1x1x2xf32>, %w: memref<2x2xf32>, %o: memref<1x1x2xf32>) {
  // CHECK: npu.recurrent %g, %r cell rnn with [tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  // GENERIC: "npu.recurrent"(%g, %r) <{cell = #npu<cell rnn>, functions = [#npu.function<{{.*}}>], operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0>}>
  %plain = npu.recurrent %g, %r cell rnn with [tanh] : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: npu.recurrent %g, %r, %h cell rnn with [clamp [-1.0, 1.0]] clip 2.0 reverse {npu.layer = "n"} :
  // GENERIC: operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>
  %bounds = npu.recurrent %g, %r, %h cell rnn with [clamp [-1.0, 1.0]] clip 2.0 reverse {npu.layer = "n"} : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: npu.recurrent %g3, %r3 cell gru with [hard_sigmoid [0.2, 0.5], relu] :
  // GENERIC: operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0>
  %gru = npu.recurrent %g3, %r3 cell gru with [hard_sigmoid [0.2, 0.5], relu] : (tensor<5x2x12xf32>, tensor<12x4xf32>) -> tensor<6x2x4xf32>
  // CHECK: npu.recurrent %g3, %r3, %b cell gru with [sigmoid, tanh] linear_before_reset :
  // GENERIC: operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0>
  %biased = npu.recurrent %g3, %r3, %b cell gru with [sigmoid, tanh] linear_before_reset : (tensor<5x2x12xf32>, tensor<12x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  // CHECK: npu.recurrent %g3, %r3, %h, %b cell gru
  // GENERIC: operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>
  %all3 = npu.recurrent %g3, %r3, %h, %b cell gru with [sigmoid, tanh] linear_before_reset : (tensor<5x2x12xf32>, tensor<12x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  // CHECK: npu.recurrent %g4, %r4, %p cell lstm with [sigmoid, tanh, tanh] input_forget :
  // GENERIC: operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1, 0>
  %peeping = npu.recurrent %g4, %r4, %p cell lstm with [sigmoid, tanh, tanh] input_forget : (tensor<5x2x16xf32>, tensor<16x4xf32>, tensor<12xf32>) -> tensor<6x2x4xf32>
  // CHECK: npu.recurrent %g4, %r4, %h, %h, %p cell lstm
  // GENERIC: operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0>
  %all4 = npu.recurrent %g4, %r4, %h, %h, %p cell lstm with [sigmoid, tanh, tanh] : (tensor<5x2x16xf32>, tensor<16x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<12xf32>) -> tensor<6x2x4xf32>
  // CHECK: npu.recurrent ins(%m, %w : memref<1x1x2xf32>, memref<2x2xf32>) outs(%o : memref<1x1x2xf32>) cell rnn with [affine [2.0, 0.5]]
  npu.recurrent ins(%m, %w : memref<1x1x2xf32>, memref<2x2xf32>) outs(%o : memref<1x1x2xf32>) cell rnn with [affine [2.0, 0.5]]
  func.return
}
