// RUN: NPU_DIAGNOSTICS

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.prune_zero_blocks %x block 0 threshold 0.1 : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
  func.return
}
// CHECK: expected a block of at least 1 element, got 0

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.prune_zero_blocks %x block 4 threshold -0.5 : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
  func.return
}
// CHECK: expected a threshold of at least 0, got -0.5

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.prune_zero_blocks %x block 4 threshold inf : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
  func.return
}
// CHECK: expected a threshold of at least 0, got inf

// -----

func.func @f(%x: tensor<4x9xf32>) {
  %y = npu.prune_zero_blocks %x block 4 threshold 0.1 : tensor<4x9xf32> -> tensor<4x9xf32>
  func.return
}
// CHECK: expected an input of rank 4, got tensor<4x9xf32>

// -----

func.func @f(%x: tensor<1x4x9x9xi8>) {
  %y = npu.prune_zero_blocks %x block 4 threshold 0.1 : tensor<1x4x9x9xi8> -> tensor<1x4x9x9xi8>
  func.return
}
// CHECK: expected a scale for elements of type i8

// -----

func.func @f(%x: tensor<1x4x9x9xf32>) {
  %y = npu.prune_zero_blocks %x block 4 threshold 0.1 scale 0.5 : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
  func.return
}
// CHECK: expected no scale for elements of type f32

// -----

func.func @f(%x: tensor<1x4x9x9xi8>) {
  %y = npu.prune_zero_blocks %x block 4 threshold 0.1 scale 0.0 : tensor<1x4x9x9xi8> -> tensor<1x4x9x9xi8>
  func.return
}
// CHECK: expected a positive, finite scale, got 0.0

// -----

func.func @f(%x: tensor<1x4x9x9xi8>) {
  %y = npu.prune_zero_blocks %x block 4 threshold 0.1 scale 0.5 zero_point 200 : tensor<1x4x9x9xi8> -> tensor<1x4x9x9xi8>
  func.return
}
// CHECK: expected a zero point of i8 in [-128, 127], got 200
