// RUN: npu-opt %s -p npu-lower-to-loops | filecheck %s

// A function is built from its formula.
// CHECK-LABEL: func.func @silu
// CHECK: [[N:%[^ ]*]] = arith.negf [[X:%[^ ]*]]
// CHECK-NEXT: [[E:%.*]] = math.exp [[N]]
// CHECK-NEXT: [[S:%.*]] = arith.addf {{.*}}, [[E]]
// CHECK-NEXT: [[D:%.*]] = arith.divf {{.*}}, [[S]]
// CHECK-NEXT: arith.mulf [[X]], [[D]]
func.func @silu(%x: memref<1x8xf32>) {
  npu.map ins(%x : memref<1x8xf32>) outs(%x : memref<1x8xf32>) with silu
  func.return
}

// Slopes by channel lie in flash.
// CHECK: sym_name = "prelu_slopes", type = memref<2xf32, #npu.flash>
// CHECK-LABEL: func.func @prelu
// CHECK: scf.for %j
// CHECK: scf.for %k
// CHECK: memref.load %slopes[%j]
func.func @prelu(%x: memref<1x2x8xf32>) {
  npu.map ins(%x : memref<1x2x8xf32>) outs(%x : memref<1x2x8xf32>) with prelu [0.5, 0.25]
  func.return
}

// A table is one load; the least byte has the first entry. Maps of one layout are one loop.
// CHECK: sym_name = "lookup_lookup", type = memref<256xi8, #npu.flash>
// CHECK-LABEL: func.func @lookup
// CHECK: scf.for %i
// CHECK-NOT: scf.for
// CHECK: [[K:%.*]] = arith.subi {{.*}}, %cm128
// CHECK-NEXT: memref.load %lookup{{.*}}[[K]]
func.func @lookup(%x: memref<1x2x8x8xi8, strided<[128, 1, 16, 2]>>) {
  npu.lookup ins(%x : memref<1x2x8x8xi8, strided<[128, 1, 16, 2]>>) outs(%x : memref<1x2x8x8xi8, strided<[128, 1, 16, 2]>>) with lookup signed "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0dfdedddcdbdad9d8d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0afaeadacabaaa9a8a7a6a5a4a3a2a1a09f9e9d9c9b9a999897969594939291908f8e8d8c8b8a898887868584838281807f7e7d7c7b7a797877767574737271706f6e6d6c6b6a696867666564636261605f5e5d5c5b5a595857565554535251504f4e4d4c4b4a494847464544434241403f3e3d3c3b3a393837363534333231302f2e2d2c2b2a292827262524232221201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100"
  func.return
}
