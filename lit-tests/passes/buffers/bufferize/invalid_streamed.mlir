// RUN: npu-opt %s -p npu-bufferize --verify-diagnostics --split-input-file | filecheck %s

func.func @whole(%x : tensor<1x1x8x8xf32> {npu.stream}) -> tensor<1x1x8x8xf32> {
  %y = npu.relu %x {npu.layer = "first"} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  func.return %y : tensor<1x1x8x8xf32>
}
// CHECK-LABEL: npu-bufferize: expected npu.rows to read the streamed input, got first

// -----

func.func @unmarked(%x : tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32> {
  %y = npu.rows of %x attributes {npu.ring = 0, npu.row_time = array<i64: 1, 0>} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32> {
    %0 = npu.relu %x {npu.row_time = array<i64: 1, 0>} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
    npu.yield %0 : tensor<1x1x8x8xf32>
  }
  func.return %y : tensor<1x1x8x8xf32>
}
// CHECK: npu-bufferize: expected an input of the function with npu.stream, got another map
