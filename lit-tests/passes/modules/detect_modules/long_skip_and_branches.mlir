// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=2})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=2},npu-detect-modules{max-depth=2})' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=2},npu-inline-modules)' | filecheck %s --check-prefix=INLINE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-detect-modules{max-depth=2},npu-inline-modules,npu-detect-modules{max-depth=2})' | filecheck %s

// %s comes over a long skip-connection. The other operands are in a row and make a module, whose output is concatenated with it.
// CHECK-LABEL: func.func @between
// CHECK: %[[M:.*]] = npu.module concat axis 1 of %c {npu.in_part, npu.layer = "m"} : tensor<1x1x8x8xf32> -> tensor<1x2x8x8xf32> {
// CHECK-NEXT: npu.branch part 0 {
// CHECK: npu.layer = "m/left"
// CHECK: npu.branch part 1 {
// CHECK: npu.layer = "m/right"
// CHECK: %y = npu.concat %s, %[[M]], %s axis 1 {npu.layer = "m/cat", npu.no_module = "first comes over a long skip-connection", npu.long_skips = array<i64: 0, 2>} : (tensor<1x1x8x8xf32>, tensor<1x2x8x8xf32>, tensor<1x1x8x8xf32>)

// Inlined they are one concatenation again.
// INLINE-LABEL: func.func @between
// INLINE: %y = npu.concat %s, %l, %r, %s axis 1 {npu.layer = "m/cat", npu.no_module = "first comes over a long skip-connection", npu.long_skips = array<i64: 0, 3>}
func.func @between(%x: tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %s = npu.max_pool2d %x kernel [1, 1] strides [1, 1] {npu.layer = "first"} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a = npu.max_pool2d %s kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b = npu.max_pool2d %a kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %c = npu.max_pool2d %b kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %l = npu.max_pool2d %c kernel [1, 1] strides [1, 1] {npu.layer = "m/left"} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %r = npu.max_pool2d %c kernel [1, 1] strides [1, 1] {npu.layer = "m/right"} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %y = npu.concat %s, %l, %r, %s axis 1 {npu.layer = "m/cat"} : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %y : tensor<1x4x8x8xf32>
}

// A long skip-connection between the branches: the order of the concatenation is not changed.
// CHECK-LABEL: func.func @in_the_middle
// CHECK-NOT: npu.module concat
// CHECK: npu.no_module = "first comes over a long skip-connection"
// INLINE-LABEL: func.func @in_the_middle
func.func @in_the_middle(%x: tensor<1x1x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %s = npu.max_pool2d %x kernel [1, 1] strides [1, 1] {npu.layer = "first"} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %a = npu.max_pool2d %s kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %b = npu.max_pool2d %a kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %c = npu.max_pool2d %b kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %l = npu.max_pool2d %c kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %r = npu.max_pool2d %c kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %y = npu.concat %l, %s, %r axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return %y : tensor<1x3x8x8xf32>
}
