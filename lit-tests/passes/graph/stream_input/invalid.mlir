// RUN: npu-opt %s -p npu-stream-input --verify-diagnostics --split-input-file | filecheck %s

func.func @two(%x : tensor<1x1x4x4xf32>, %y : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %0 = npu.add %x, %y : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %0 : tensor<1x1x4x4xf32>
}
// CHECK-LABEL: npu-stream-input: expected one input to stream, got 2

// -----

func.func @states(%x : tensor<1x1x4x4xf32>, %h : tensor<4xf32> {npu.state = "n"})
    -> (tensor<1x1x4x4xf32>, tensor<4xf32> {npu.state = "n"}) {
  %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %0, %h : tensor<1x1x4x4xf32>, tensor<4xf32>
}
// CHECK: npu-stream-input: expected a function without states for a streamed input

// -----

func.func @no_map(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = npu.relu %x : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}
// CHECK: npu-stream-input: expected an input of one image [1, C, H, W] with 2 rows or more to stream, got tensor<4x4xf32>

// -----

func.func @batch(%x : tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32> {
  %0 = npu.relu %x : tensor<2x1x4x4xf32> -> tensor<2x1x4x4xf32>
  func.return %0 : tensor<2x1x4x4xf32>
}
// CHECK: npu-stream-input: expected an input of one image [1, C, H, W] with 2 rows or more to stream, got tensor<2x1x4x4xf32>

// -----

func.func @one_row(%x : tensor<1x1x1x4xf32>) -> tensor<1x1x1x4xf32> {
  %0 = npu.relu %x : tensor<1x1x1x4xf32> -> tensor<1x1x1x4xf32>
  func.return %0 : tensor<1x1x1x4xf32>
}
// CHECK: npu-stream-input: expected an input of one image [1, C, H, W] with 2 rows or more to stream, got tensor<1x1x1x4xf32>

// -----

func.func @unread(%x : tensor<1x1x4x4xf32>) {
  func.return
}
// CHECK: npu-stream-input: expected an input that a layer reads, got tensor<1x1x4x4xf32>

// -----

func.func @flat(%x : tensor<1x1x4x4xf32>) -> tensor<1x16xf32> {
  %0 = npu.reshape %x {npu.layer = "flatten"} : tensor<1x1x4x4xf32> -> tensor<1x16xf32>
  func.return %0 : tensor<1x16xf32>
}
// CHECK: npu-stream-input: flatten (npu.reshape) reads more of the input than some rows: it cannot be streamed

// -----

func.func @columns(%x : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %0 = npu.softmax %x axis 2 : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %0 : tensor<1x1x4x4xf32>
}
// CHECK: npu-stream-input: npu.softmax reads more of the input than some rows: it cannot be streamed

// -----

func.func @returned(%x : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  func.return %x : tensor<1x1x4x4xf32>
}
// CHECK: npu-stream-input: expected layers that read the streamed input row by row, got func.return

// -----

// CHECK: npu-stream-input: expected one public function of one block
func.func private @hidden(%x : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  func.return %x : tensor<1x1x4x4xf32>
}

// -----

builtin.module attributes {npu.target = #npu.target<"zynq", {sram_bytes = 1024 : i64, flash_bytes = 0 : i64, dma_channels = 2 : i64}>} {
  func.func @dma(%x : tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
    %0 = npu.relu %x : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
    func.return %0 : tensor<1x1x4x4xf32>
  }
}
// CHECK: npu-stream-input: expected a machine without DMA for a streamed input, got zynq
