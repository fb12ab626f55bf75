// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @concatenation
// GENERIC-LABEL: sym_name = "concatenation"
func.func @concatenation(%x: tensor<1x4x8x8xf32>, %w: tensor<2x4x1x1xf32>) -> tensor<1x6x8x8xf32> {
  // CHECK: %y = npu.module concat axis 1 of %x : tensor<1x4x8x8xf32> -> tensor<1x6x8x8xf32> {
  // CHECK-NEXT: npu.branch part 1 {
  // CHECK-NEXT: %0 = npu.conv2d %x, %w
  // CHECK-NEXT: npu.yield %0 : tensor<1x2x8x8xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: npu.branch part 0 {
  // CHECK-NEXT: npu.yield %x : tensor<1x4x8x8xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // GENERIC: %y = "npu.module"(%x) <{merge = #npu<merge concat>, axis = 1 : i64}> ({
  // GENERIC-NEXT: "npu.branch"() <{part = 1 : i64}> ({
  // GENERIC: "npu.yield"(%0) : (tensor<1x2x8x8xf32>) -> ()
  // GENERIC-NEXT: }) : () -> ()
  %y = npu.module concat axis 1 of %x : tensor<1x4x8x8xf32> -> tensor<1x6x8x8xf32> {
    npu.branch part 1 {
      %0 = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32>
      npu.yield %0 : tensor<1x2x8x8xf32>
    }
    npu.branch part 0 {
      npu.yield %x : tensor<1x4x8x8xf32>
    }
  }
  func.return %y : tensor<1x6x8x8xf32>
}

// A module in a branch reads what its branch has computed; constants may come from anywhere.
// CHECK-LABEL: func.func @nested
// GENERIC-LABEL: sym_name = "nested"
func.func @nested(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %k = arith.constant dense<1.0> : tensor<4xf32>
  // CHECK: %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
  // CHECK-NEXT: npu.branch part 0 {
  // CHECK-NEXT: %0 = npu.relu %x
  // CHECK-NEXT: %1 = npu.module add of %0 : tensor<1x4xf32> -> tensor<1x4xf32> {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      %0 = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
      %1 = npu.module add of %0 : tensor<1x4xf32> -> tensor<1x4xf32> {
        npu.branch part 0 {
          %2 = npu.add %0, %k : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
          npu.yield %2 : tensor<1x4xf32>
        }
        npu.branch part 1 {
          npu.yield %0 : tensor<1x4xf32>
        }
      }
      npu.yield %1 : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return %y : tensor<1x4xf32>
}

// What is planned stands in the text.
// CHECK-LABEL: func.func @planned
// GENERIC-LABEL: sym_name = "planned"
func.func @planned(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  // CHECK: npu.module add of %x policy II mifm 16 at 0 mofm 32 at 64 {npu.layer = "block"} :
  // CHECK-NEXT: npu.branch part 0 required 48 occupied 0 attributes {test.note} {
  // CHECK: npu.branch part 1 required 0 {
  // GENERIC: <{merge = #npu<merge add>, policy = #npu<policy II>, mifm = 16 : i64, mifm_offset = 0 : i64, mofm = 32 : i64, mofm_offset = 64 : i64}>
  %y = npu.module add of %x policy II mifm 16 at 0 mofm 32 at 64 {npu.layer = "block"} : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 required 48 occupied 0 attributes {test.note} {
      %0 = npu.relu %x {npu.forward = true} : tensor<1x4xf32> -> tensor<1x4xf32>
      npu.yield %0 : tensor<1x4xf32>
    }
    npu.branch part 1 required 0 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  // CHECK: npu.module add of %x policy I mifm 16 mofm 32 :
  %z = npu.module add of %x policy I mifm 16 mofm 32 : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return %y : tensor<1x4xf32>
}
