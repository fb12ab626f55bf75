// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-inline-modules)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-inline-modules,npu-detect-modules)' | filecheck %s --check-prefix=AGAIN

// The layer that writes the MIFM says where it is to lie, those that write parts of the MOFM where these do: the MIFM is a part
// too, but lies where the plan has put it. Of a sum only the last layer writes the MOFM. No offset, no place.
// CHECK-LABEL: func.func @places
// CHECK-NEXT: %m = npu.relu %x {npu.place = array<i64: 64, 0>} :
// CHECK-NEXT: %a = npu.max_pool2d %m kernel [1, 1] strides [1, 1] {npu.module = "module0", npu.place = array<i64: 64, 320>}
// CHECK-NEXT: %b = npu.relu %m {npu.module = "module0", npu.place = array<i64: 64, 256>}
// CHECK-NEXT: %c = npu.concat %m, %b axis 1 {npu.module = "module0", npu.place = array<i64: 128, 192>}
// CHECK-NEXT: %y = npu.concat %m, %c, %a axis 1 {npu.module = "module0", npu.place = array<i64: 256, 128>}
// CHECK-NEXT: %d = npu.relu %y {npu.module = "module1"}
// CHECK-NEXT: %z = npu.add %y, %d {npu.module = "module1", npu.place = array<i64: 256, 512>}
// AGAIN-LABEL: func.func @places
// AGAIN-NOT: npu.module =
// AGAIN: npu.module concat
// AGAIN-NOT: npu.place
// AGAIN: func.return
func.func @places(%x: tensor<1x1x8x8xi8>) -> tensor<1x4x8x8xi8> {
  %m = npu.relu %x : tensor<1x1x8x8xi8> -> tensor<1x1x8x8xi8>
  %y = npu.module concat axis 1 of %m policy I mifm 64 at 0 mofm 256 at 128 : tensor<1x1x8x8xi8> -> tensor<1x4x8x8xi8> {
    npu.branch part 2 {
      %a = npu.max_pool2d %m kernel [1, 1] strides [1, 1] : tensor<1x1x8x8xi8> -> tensor<1x1x8x8xi8>
      npu.yield %a : tensor<1x1x8x8xi8>
    }
    npu.branch part 0 {
      npu.yield %m : tensor<1x1x8x8xi8>
    }
    npu.branch part 1 {
      %c = npu.module concat axis 1 of %m policy I mifm 64 at 0 mofm 128 at 192 : tensor<1x1x8x8xi8> -> tensor<1x2x8x8xi8> {
        npu.branch part 0 {
          npu.yield %m : tensor<1x1x8x8xi8>
        }
        npu.branch part 1 {
          %b = npu.relu %m : tensor<1x1x8x8xi8> -> tensor<1x1x8x8xi8>
          npu.yield %b : tensor<1x1x8x8xi8>
        }
      }
      npu.yield %c : tensor<1x2x8x8xi8>
    }
  }
  %z = npu.module add of %y policy I mifm 256 mofm 256 at 512 : tensor<1x4x8x8xi8> -> tensor<1x4x8x8xi8> {
    npu.branch part 0 {
      npu.yield %y : tensor<1x4x8x8xi8>
    }
    npu.branch part 1 {
      %d = npu.relu %y : tensor<1x4x8x8xi8> -> tensor<1x4x8x8xi8>
      npu.yield %d : tensor<1x4x8x8xi8>
    }
  }
  func.return %z : tensor<1x4x8x8xi8>
}
