// RUN: mkdir -p "%t" && python -c "import numpy, sys; one = numpy.full((2, 1, 4, 6), -1, 'f4'); one[0, 0, 3, 5] = 2; numpy.savez(sys.argv[1], x=one, unused=one)" "%t/data.npz"
// RUN: npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/data.npz"}' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/data.npz" block-size=1}' | filecheck %s --check-prefix=ONE

// Behind the first layer the map of one sample has one element left, in the smaller of its two
// blocks, that of the other sample none: 16 + 24 elements of 48 lie in zero blocks of 4 x 4, 47 in
// zero blocks of one element. The second layer leaves no zero. A layer without height and width
// says nothing, and what a layer said before is replaced.

// CHECK-LABEL: func.func @f
// CHECK: npu.relu %x {npu.layer = "r", npu.zero_blocks = 0.83333333333333337 : f64}
// CHECK-NEXT: npu.clamp {{.*}} {npu.zero_blocks = 0.000000e+00 : f64}
// CHECK-NEXT: npu.reshape {{[^{]*$}}
// CHECK-NEXT: func.return
// ONE-LABEL: func.func @f
// ONE: npu.relu %x {npu.layer = "r", npu.zero_blocks = 0.97916666666666663 : f64}
func.func @f(%x: tensor<1x1x4x6xf32> {npu.name = "x"}) -> (tensor<1x24xf32> {npu.name = "y"}) {
  %r = npu.relu %x {npu.layer = "r", npu.zero_blocks = 0.5 : f64} : tensor<1x1x4x6xf32> -> tensor<1x1x4x6xf32>
  %c = npu.clamp %r low 1.0 high 3.0 : tensor<1x1x4x6xf32> -> tensor<1x1x4x6xf32>
  %y = npu.reshape %c : tensor<1x1x4x6xf32> -> tensor<1x24xf32>
  func.return %y : tensor<1x24xf32>
}
