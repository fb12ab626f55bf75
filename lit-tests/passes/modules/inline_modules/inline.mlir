// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-inline-modules)' | filecheck %s

// It rejects nothing: the verifier of npu.module has seen to it that every module has its layers.

// Execution order stays that of the branches; the parts are merged in their places; what is planned
// for a layer stays, and the merge has its own name again. All layers say which outermost module they come from.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT: %a = npu.relu %x {npu.forward = true, npu.module = "c1"} :
// CHECK-NEXT: %c = npu.clamp %a low 0.0 high 2.0 {npu.module = "c1"}
// CHECK-NEXT: %b = npu.clamp %a low 0.0 high 1.0 {npu.module = "c1"}
// CHECK-NEXT: %n = npu.add %b, %c {npu.layer = "sum", npu.module = "c1"} :
// CHECK-NEXT: %y = npu.concat %x, %n axis 1 {npu.layer = "c1/concat", npu.module = "c1", npu.place = array<i64: 32, 16>} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: npu.relu %y :
func.func @nested(%x: tensor<1x4xf32>) -> tensor<1x8xf32> {
  %y = npu.module concat axis 1 of %x policy I mifm 16 at 0 mofm 32 at 16 {npu.peak = 48 : i64, npu.peak_bound = 48 : i64, npu.layer = "c1", npu.merge = "c1/concat"} : tensor<1x4xf32> -> tensor<1x8xf32> {
    npu.branch part 1 required 16 occupied 0 {
      %a = npu.relu %x {npu.forward = true} : tensor<1x4xf32> -> tensor<1x4xf32>
      %n = npu.module add of %a {npu.layer = "sum"} : tensor<1x4xf32> -> tensor<1x4xf32> {
        npu.branch part 1 {
          %c = npu.clamp %a low 0.0 high 2.0 : tensor<1x4xf32> -> tensor<1x4xf32>
          npu.yield %c : tensor<1x4xf32>
        }
        npu.branch part 0 {
          %b = npu.clamp %a low 0.0 high 1.0 : tensor<1x4xf32> -> tensor<1x4xf32>
          npu.yield %b : tensor<1x4xf32>
        }
      }
      npu.yield %n : tensor<1x4xf32>
    }
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  %z = npu.relu %y : tensor<1x8xf32> -> tensor<1x8xf32>
  func.return %z : tensor<1x8xf32>
}

// A sum of three is two layers; the last one has the name. A module without a name is called by its number.
// CHECK-LABEL: func.func @sum_of_three
// CHECK-NEXT: %[[FIRST:.*]] = npu.add %x, %x {npu.module = "module1"} : (
// CHECK-NEXT: %y = npu.add %[[FIRST]], %x {npu.value = "y", npu.module = "module1"} : (
// CHECK-NEXT: func.return %y
func.func @sum_of_three(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = npu.module add of %x {npu.value = "y"} : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 2 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @no_modules
// CHECK-NEXT: %y = npu.relu %x
// CHECK-NEXT: func.return %y
func.func @no_modules(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
