// RUN: mkdir -p "%t" && python -c "import numpy, sys; one = numpy.full((1, 1, 4, 24), -128, 'i1'); one[0, 0, 0, :4] = -120; one[0, 0, 1, 16:] = -1; numpy.savez(sys.argv[1], x=one)" "%t/data.npz"
// RUN: npu-opt %s --pass-pipeline='npu-measure-zero-blocks{data="%t/data.npz"}' | filecheck %s

// Of 96 bytes, one run of 16 has 4 planes of 2 bytes (8 is the highest difference), and one of 8 has
// 7 planes of 1 byte. A map of floats has no planes, and what its layer said before is dropped.

// CHECK-LABEL: func.func @f
// CHECK: npu.clamp %x {{.*}} {npu.zero_point = -128 : i64, npu.zero_blocks = 5.000000e-01 : f64, npu.bit_planes = 1.562500e-01 : f64}
// CHECK: npu.dequantize {{.*}} {npu.zero_blocks = {{[^,]*}} : f64}
func.func @f(%x: tensor<1x1x4x24xi8> {npu.name = "x"}) -> (tensor<1x1x4x24xf32> {npu.name = "y"}) {
  %c = npu.clamp %x low -128.0 high 127.0 {npu.zero_point = -128 : i64} : tensor<1x1x4x24xi8> -> tensor<1x1x4x24xi8>
  %y = npu.dequantize %c scales [1.0] zero_point -128 {npu.bit_planes = 0.5 : f64} : tensor<1x1x4x24xi8> -> tensor<1x1x4x24xf32>
  func.return %y : tensor<1x1x4x24xf32>
}
