// RUN: mkdir -p "%t" && python -c "import numpy, sys; numpy.savez(sys.argv[1], x=numpy.zeros((1, 4), 'f8'), y=numpy.zeros((2, 4), 'f4'), z=numpy.zeros((3, 4), 'f4')); open(sys.argv[2], 'w').write('text')" "%t/data.npz" "%t/text.npz"
// RUN: npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/data.npz"}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: not npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/data.npz" block-size=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=BLOCK
// RUN: not npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/none.npz"}' --split-input-file 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/text.npz"}' --split-input-file 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not npu-opt %s --pass-pipeline=npu-measure-zero-blocks --split-input-file 2>&1 | filecheck %s --check-prefix=DATA

// BLOCK: npu-measure-zero-blocks: expected a block-size of at least 1, got 0
// NONE: none.npz: No such file or directory
// TEXT: text.npz: expected an .npz file of numbers
// DATA: pass npu-measure-zero-blocks: missing option 'data'

func.func @other_elements(%a: tensor<1x4xf32> {npu.name = "x"}) -> tensor<1x4xf32> {
  func.return %a : tensor<1x4xf32>
}
// CHECK-LABEL: data.npz: input 'x': expected float32 of shape [1, 4], or samples of it along axis 0, got float64 of shape [1, 4]

// -----

func.func @other_shape(%a: tensor<1x5xf32> {npu.name = "y"}) -> tensor<1x5xf32> {
  func.return %a : tensor<1x5xf32>
}
// CHECK: data.npz: input 'y': expected float32 of shape [1, 5], or samples of it along axis 0, got float32 of shape [2, 4]

// -----

func.func @no_data(%a: tensor<1x4xf32> {npu.name = "w"}) -> tensor<1x4xf32> {
  func.return %a : tensor<1x4xf32>
}
// CHECK: data.npz: expected input 'w', found x, y, z

// -----

func.func @other_counts(%a: tensor<1x4xf32> {npu.name = "y"}, %b: tensor<1x4xf32> {npu.name = "z"}) -> tensor<1x4xf32> {
  func.return %a : tensor<1x4xf32>
}
// CHECK: data.npz: expected as many samples of every input, got [2, 3]

// -----

// CHECK: npu-measure-zero-blocks: expected
builtin.module {
}
