// RUN: npu-opt %s --split-input-file --pass-pipeline='npu-fuse-regions{when=always}' | filecheck %s

// A layer that needs all rows, and a map that is returned too, end a region. One layer is none.
// CHECK-LABEL: func.func @ends
// CHECK-NOT: npu.rows
func.func @ends(%x : tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.softmax %0 axis 2 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %2 = npu.relu %1 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %0, %2 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// -----

// A sum of a map from outside is no region with the layer before it: that map and %x would be two inputs.
// CHECK-LABEL: func.func @two_inputs
// CHECK-NOT: npu.rows
func.func @two_inputs(%x : tensor<1x1x4x4xf32>, %y : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.add %0, %y : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %1 : tensor<1x1x4x4xf32>
}

// -----

// Two readers pad a map with other values: there is no ring of it. A region may read it whole.
// CHECK-LABEL: func.func @two_paddings
// CHECK: %0 = npu.relu %x
// CHECK-NEXT: npu.rows of %0
func.func @two_paddings(%x : tensor<1x1x4x4xf32>, %w : tensor<1x1x3x3xf32>) -> (tensor<1x1x4x4xf32>) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  %2 = npu.max_pool2d %0 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %3 = npu.add %1, %2 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %3 : tensor<1x1x4x4xf32>
}

// -----

// Where maps lie off chip, nothing is read by row.
// CHECK-LABEL: func.func @off_chip
// CHECK-NOT: npu.rows
builtin.module attributes {npu.target = #npu.target<"dma", {sram_bytes = 65536 : i64, flash_bytes = 0 : i64, dma_channels = 1 : i64}>} {
  func.func @off_chip(%x : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
    %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
    %1 = npu.relu %0 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
    func.return %1 : tensor<1x1x4x4xf32>
  }
}
