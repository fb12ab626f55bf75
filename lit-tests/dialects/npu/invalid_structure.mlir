// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected at least two branches, got 1

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 2 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected parts that number the branches from 0, got [0, 2]

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected parts that number the branches from 0, got [1, 1]

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
    %r = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  }
  func.return
}
// CHECK: expected only npu.branch inside npu.module

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module mul of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected a merge of branches by concat or add, got mul

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add axis 1 of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected merge `add`, or `concat` with an axis of the result, got add

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module concat of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected merge `add`, or `concat` with an axis of the result, got concat

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module concat axis 2 of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected merge `add`, or `concat` with an axis of the result, got concat

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module concat axis 1 of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected branches that concat into tensor<1x4xf32>, got tensor<1x4xf32>, tensor<1x4xf32>

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      %r = npu.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
      npu.yield %r : tensor<4xf32>
    }
  }
  func.return
}
// CHECK: expected branches that add into tensor<1x4xf32>, got tensor<1x4xf32>, tensor<4xf32>

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module concat axis 1 of %x : tensor<1x4xf32> -> tensor<1x8xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      %r = npu.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
      npu.yield %r : tensor<4xf32>
    }
  }
  func.return
}
// CHECK: expected branches that concat into tensor<1x8xf32>, got tensor<1x4xf32>, tensor<4xf32>

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xi8> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected branches with elements of tensor<1x4xi8>

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x policy III : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected policy I or II, got III

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x mifm 16 at -4 : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected bytes and offsets of at least 0

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 required -1 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected bytes and offsets of at least 0

// -----

func.func @f(%x: tensor<1x4xf32>, %z: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      %r = npu.relu %z : tensor<1x4xf32> -> tensor<1x4xf32>
      npu.yield %r : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected branches that read the module's input only: npu.relu reads tensor<1x4xf32> from outside, a long skip-connection

// -----

func.func @f(%x: tensor<1x4xf32>, %z: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %z : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected branches that read the module's input only: npu.yield reads tensor<1x4xf32> from outside, a long skip-connection

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      %r = npu.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
      %m = npu.module add of %r : tensor<1x4xf32> -> tensor<1x4xf32> {
        npu.branch part 0 {
          npu.yield %r : tensor<1x4xf32>
        }
        npu.branch part 1 {
          npu.yield %x : tensor<1x4xf32>
        }
      }
      npu.yield %m : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected branches that read the module's input only: npu.yield reads tensor<1x4xf32> from outside, a long skip-connection

// -----

func.func @f(%x: tensor<1x4xf32>) {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
  func.return
}
// CHECK: expected a branch directly inside npu.module

// -----

func.func @f(%x: tensor<1x4xf32>) {
  npu.yield %x : tensor<1x4xf32>
}
// CHECK: expected npu.yield directly inside npu.branch or npu.rows

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      "test.termop"() : () -> ()
    }
  }
  func.return
}
// CHECK: expected a branch that ends with npu.yield

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
    ^bb0:
    }
  }
  func.return
}
// CHECK: Operation npu.branch contains empty block in single-block region that expects at least a terminator

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
    ^bb0(%a: tensor<1x4xf32>):
      npu.yield %a : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected a branch without block arguments

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module add of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
  ^bb0(%a: tensor<1x4xf32>):
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: expected a module without block arguments

// -----

func.func @f(%x: tensor<1x4xf32>) {
  %y = npu.module 3 of %x : tensor<1x4xf32> -> tensor<1x4xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4xf32>
    }
    npu.branch part 1 {
      npu.yield %x : tensor<1x4xf32>
    }
  }
  func.return
}
// CHECK: identifier expected: a merge of branches by concat or add

// -----

func.func @f(%x: tensor<1x4x2x2xf32>, %z: tensor<1x4x2x2xf32>) {
  %y = npu.module concat axis 1 of %x : tensor<1x4x2x2xf32> -> tensor<1x8x2x2xf32> {
    npu.branch part 0 {
      npu.yield %x : tensor<1x4x2x2xf32>
    }
    npu.branch part 1 {
      %p = npu.max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x4x2x2xf32> -> tensor<1x4x1x1xf32>
      npu.yield %p : tensor<1x4x1x1xf32>
    }
  }
  func.return
}
// CHECK: expected
// CHECK-SAME: tensor<1x8x2x2xf32>
