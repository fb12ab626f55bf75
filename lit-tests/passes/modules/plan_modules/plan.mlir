// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules)' --split-input-file | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{granularity=branch})' --split-input-file | filecheck %s --check-prefix=BRANCH
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{policy=II})' --split-input-file | filecheck %s --check-prefix=TWO
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-plan-modules{policy=II},npu-plan-modules)' --split-input-file | filecheck %s

// All fits: policy I. MIFM 512 bytes, MOFM 1280. Behind part 1 (256 bytes) size_occu is 256, and size_avail is 4096 - 512 - 256.
// size_req of part 0 is OFM.Full 1024 + W.Partial 2 * 4 kernels of 8 bytes. The second module finds its MIFM where the first
// put its MOFM; its own MOFM is at the other end.
// CHECK-LABEL: func.func @chain
// CHECK: npu.module concat axis 1 of %x policy I mifm 512 at 0 mofm 1280 at 2816
// CHECK: npu.branch part 1 required 32 occupied 0 {
// CHECK: npu.conv2d {{.*}} {npu.required = 288 : i64, npu.available = 3584 : i64, npu.forward = true}
// CHECK: npu.branch part 0 required 64 occupied 256 {
// CHECK: npu.conv2d {{.*}} {npu.required = 1088 : i64, npu.available = 3328 : i64, npu.forward = true}
// CHECK: npu.module concat axis 1 of %y policy I mifm 1280 at 2816 mofm 512 at 0

// TWO-LABEL: func.func @chain
// TWO: npu.module concat axis 1 of %x policy II mifm 512 at 0 :
// TWO: npu.branch part 1 required 32 occupied 0 {
// TWO: npu.conv2d {{.*}} {npu.required = 288 : i64, npu.available = 3584 : i64, npu.forward = false}
// TWO: npu.branch part 0 required 64 occupied 0 {
// TWO: npu.conv2d {{.*}} {npu.required = 576 : i64, npu.available = 3584 : i64, npu.forward = false}
// TWO: npu.module concat axis 1 of %y policy II mifm 1280 at 0 :

// BRANCH-LABEL: func.func @chain
// BRANCH-NOT: npu.policy
// BRANCH: func.return
builtin.module attributes {npu.target = #npu.target<"roomy", {sram_bytes = 4096 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, ifm_chunks = 4 : i64}>} {
func.func @chain(%x: tensor<1x8x7x7xi8>, %w0: tensor<16x8x1x1xi8>, %w1: tensor<4x8x1x1xi8>, %w2: tensor<4x20x1x1xi8>) -> tensor<1x8x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x20x7x7xi8> {
    npu.branch part 1 {
      %a = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<16x8x1x1xi8>) -> tensor<1x16x7x7xi8>
      npu.yield %a : tensor<1x16x7x7xi8>
    }
  }
  %z = npu.module concat axis 1 of %y : tensor<1x20x7x7xi8> -> tensor<1x8x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %y, %w2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x20x7x7xi8>, tensor<4x20x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
    npu.branch part 1 {
      %a = npu.conv2d %y, %w2 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x20x7x7xi8>, tensor<4x20x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
  }
  func.return %z : tensor<1x8x7x7xi8>
}
}

// -----

// The same module in 1700 bytes: part 0 has 932 bytes under I and needs 1088. Under II all of the MOFM leaves the chip, and a last
// layer needs OFM.Partial: 2 * 4 of 16 channels. With granularity=branch only part 0 leaves.
// CHECK-LABEL: func.func @too_big
// CHECK: npu.module concat axis 1 of %x policy II mifm 512 at 0 :
// CHECK: npu.conv2d {{.*}} {npu.required = 288 : i64, npu.available = 1188 : i64, npu.forward = false}
// CHECK: npu.branch part 0 required 64 occupied 0 {
// CHECK: npu.conv2d {{.*}} {npu.required = 576 : i64, npu.available = 1188 : i64, npu.forward = false}
// BRANCH-LABEL: func.func @too_big
// BRANCH: npu.module concat axis 1 of %x policy I mifm 512 at 0 mofm 1280 :
// BRANCH: npu.branch part 1 required 32 occupied 0 {
// BRANCH: npu.forward = true
// BRANCH: npu.branch part 0 required 64 occupied 256 attributes {npu.policy = "II"} {
// BRANCH: npu.conv2d {{.*}} {npu.required = 576 : i64, npu.available = 932 : i64, npu.forward = false}
// TWO-LABEL: func.func @too_big
builtin.module attributes {npu.target = #npu.target<"tight", {sram_bytes = 1700 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, ifm_chunks = 4 : i64}>} {
func.func @too_big(%x: tensor<1x8x7x7xi8>, %w0: tensor<16x8x1x1xi8>, %w1: tensor<4x8x1x1xi8>) -> tensor<1x20x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x20x7x7xi8> {
    npu.branch part 1 {
      %a = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<16x8x1x1xi8>) -> tensor<1x16x7x7xi8>
      npu.yield %a : tensor<1x16x7x7xi8>
    }
  }
  func.return %y : tensor<1x20x7x7xi8>
}
}

// -----

// A MIFM that leaves no room is fetched in quarters by every layer that reads it: no `mifm`. Two channels, twice: 256 bytes.
// CHECK-LABEL: func.func @no_room_for_mifm
// CHECK: npu.module concat axis 1 of %x policy II :
// CHECK: npu.conv2d {{.*}} {npu.required = 832 : i64, npu.available = 900 : i64, npu.forward = false}
// BRANCH-LABEL: func.func @no_room_for_mifm
// TWO-LABEL: func.func @no_room_for_mifm
builtin.module attributes {npu.target = #npu.target<"tiny", {sram_bytes = 900 : i64, flash_bytes = 0 : i64, kernel_group = 4 : i64, weight_buffers = 2 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, ifm_chunks = 4 : i64}>} {
func.func @no_room_for_mifm(%x: tensor<1x8x7x7xi8>, %w0: tensor<16x8x1x1xi8>, %w1: tensor<4x8x1x1xi8>) -> tensor<1x20x7x7xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x7x7xi8> -> tensor<1x20x7x7xi8> {
    npu.branch part 0 {
      %a = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<16x8x1x1xi8>) -> tensor<1x16x7x7xi8>
      npu.yield %a : tensor<1x16x7x7xi8>
    }
    npu.branch part 1 {
      %a = npu.conv2d %x, %w1 strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x7x7xi8>, tensor<4x8x1x1xi8>) -> tensor<1x4x7x7xi8>
      npu.yield %a : tensor<1x4x7x7xi8>
    }
  }
  func.return %y : tensor<1x20x7x7xi8>
}
}

// -----

// The MIFM is part 0 of the MOFM: it lies there. Nested: the MIFM of depth 2 beside that of depth 1, its MOFM in its slice.
// CHECK-LABEL: func.func @views_and_nesting
// CHECK: npu.module concat axis 1 of %x policy I mifm 512 at 0 mofm 1536 at 0
// CHECK: npu.module concat axis 1 of %y policy I mifm 1536 at 0 mofm 2560 at 5632
// CHECK: npu.module concat axis 1 of %b policy I mifm 512 at 1536 mofm 1024 at 5632
// CHECK: npu.branch part 0 required 0 occupied 0 {
// CHECK: {npu.required = 512 : i64, npu.available = 6144 : i64, npu.forward = true}
// CHECK: npu.branch part 1 required 0 occupied 512 {
// CHECK: {npu.required = 512 : i64, npu.available = 5632 : i64, npu.forward = true}
// BRANCH-LABEL: func.func @views_and_nesting
// TWO-LABEL: func.func @views_and_nesting
builtin.module attributes {npu.target = #npu.target<"large", {sram_bytes = 8192 : i64, flash_bytes = 0 : i64, alignment = 16 : i64}>} {
func.func @views_and_nesting(%x: tensor<1x8x8x8xi8>, %w: tensor<16x8x1x1xi8>, %v: tensor<8x24x1x1xi8>) -> tensor<1x40x8x8xi8> {
  %y = npu.module concat axis 1 of %x : tensor<1x8x8x8xi8> -> tensor<1x24x8x8xi8> {
    npu.branch part 1 {
      %a = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x8x8xi8>, tensor<16x8x1x1xi8>) -> tensor<1x16x8x8xi8>
      npu.yield %a : tensor<1x16x8x8xi8>
    }
    npu.branch part 0 {
      npu.yield %x : tensor<1x8x8x8xi8>
    }
  }
  %z = npu.module concat axis 1 of %y : tensor<1x24x8x8xi8> -> tensor<1x40x8x8xi8> {
    npu.branch part 0 {
      %b = npu.conv2d %y, %v strides [1, 1] pads [0, 0, 0, 0] : (tensor<1x24x8x8xi8>, tensor<8x24x1x1xi8>) -> tensor<1x8x8x8xi8>
      %c = npu.module concat axis 1 of %b : tensor<1x8x8x8xi8> -> tensor<1x16x8x8xi8> {
        npu.branch part 0 {
          %d = npu.max_pool2d %b kernel [1, 1] strides [1, 1] : tensor<1x8x8x8xi8> -> tensor<1x8x8x8xi8>
          npu.yield %d : tensor<1x8x8x8xi8>
        }
        npu.branch part 1 {
          %d = npu.max_pool2d %b kernel [1, 1] strides [1, 1] : tensor<1x8x8x8xi8> -> tensor<1x8x8x8xi8>
          npu.yield %d : tensor<1x8x8x8xi8>
        }
      }
      npu.yield %c : tensor<1x16x8x8xi8>
    }
    npu.branch part 1 {
      %d = npu.max_pool2d %y kernel [1, 1] strides [1, 1] : tensor<1x24x8x8xi8> -> tensor<1x24x8x8xi8>
      npu.yield %d : tensor<1x24x8x8xi8>
    }
  }
  func.return %z : tensor<1x40x8x8xi8>
}
}
