// RUN: NPU_DIAGNOSTICS

// CHECK-LABEL: expected npu.ring = 2, the rows that npu.max_pool2d needs at once, got 3
func.func @ring(%x : tensor<1x4x8x8xf32>, %w : tensor<2x4x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x2x3x3xf32> {
    %0 = npu.conv2d %x, %w {npu.ring = 3} : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x6x6xf32>
    %1 = npu.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x2x6x6xf32> -> tensor<1x2x3x3xf32>
    npu.yield %1 : tensor<1x2x3x3xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected layers that can run row by row, got npu.softmax
func.func @no_rows(%x : tensor<1x4x8x8xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
    %0 = npu.softmax %x axis 2 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    npu.yield %0 : tensor<1x4x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected a chain: npu.relu reads another map
func.func @other(%x : tensor<1x4x8x8xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
    %0 = npu.relu %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    %1 = npu.relu %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    npu.yield %1 : tensor<1x4x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected layers on tensors, got test.op
func.func @foreign(%x : tensor<1x4x8x8xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
    %0 = "test.op"(%x) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
    npu.yield %0 : tensor<1x4x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected at least one layer
func.func @empty(%x : tensor<1x4x8x8xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
    npu.yield %x : tensor<1x4x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.yield of the last layer, a tensor<1x4x8x8xf32>
func.func @result(%x : tensor<1x4x8x8xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
    %0 = npu.relu %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    npu.yield %x : tensor<1x4x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected layers that can run row by row, got npu.matmul
func.func @whole(%q : tensor<1x4x8x8xf32>, %x : tensor<1x4x8x8xf32>) {
  %y = npu.rows of %x : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32> {
    %0 = npu.matmul %q, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
    npu.yield %0 : tensor<1x4x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected a chain: the map of npu.relu is read twice
func.func @inner(%x : tensor<4x8xf32>) {
  %y = npu.rows of %x : tensor<4x8xf32> -> tensor<4x8xf32> {
    %0 = npu.relu %x : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = npu.relu %0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %2 = npu.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    npu.yield %2 : tensor<4x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected a reshape that keeps rows
func.func @reshape(%x : tensor<4x8xf32>) {
  %y = npu.rows of %x : tensor<4x8xf32> -> tensor<8x4xf32> {
    %0 = npu.relu %x : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = npu.reshape %0 : tensor<4x8xf32> -> tensor<8x4xf32>
    %2 = npu.relu %1 : tensor<8x4xf32> -> tensor<8x4xf32>
    npu.yield %2 : tensor<8x4xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time of npu.conv2d with period 1 and a delay from 1 on, got [1, 0]
func.func @too_early(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %1 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time of npu.conv2d with period 2 and a delay from 2 on, got [1, 2]
func.func @period(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 3, npu.row_time = array<i64: 2, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 2>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %1 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time of a period from 1 on and a delay, got [0, 0]
func.func @no_period(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 0, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time = array<i64: period, delay> on each layer of a region, got none on npu.conv2d
func.func @one_without(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 3} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %1 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.ring = 3 on npu.conv2d, the rows that npu.add, npu.conv2d need at once, got 2
func.func @ring_of_region(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 2, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.ring = 0, npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.add %1, %0 {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %2 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.ring = 3 on npu.conv2d, the rows that npu.conv2d needs at once, got 0
func.func @not_overwritten(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 0, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %1 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected layers whose maps the region reads or yields, got npu.conv2d
func.func @unread(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %1 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected readers with the same value of padding, got npu.max_pool2d and npu.conv2d
func.func @paddings(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] {npu.ring = 1, npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    %2 = npu.max_pool2d %0 kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>, npu.ring = 1} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    %3 = npu.add %1, %2 {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %3 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.ring = 3 on npu.rows, the rows that npu.conv2d needs at once, got 2
func.func @ring_of_input(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 2, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// A layer that needs three rows cannot take one where it arrives.
// CHECK-LABEL: expected npu.ring = 3 on npu.rows, the rows that npu.conv2d needs at once, got 0
func.func @no_ring_of_input(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 0, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time of npu.conv2d with period 1 and a delay from 1 on, got [1, 0]
func.func @before_it_arrives(%x : tensor<1x2x8x8xf32>, %w : tensor<2x2x3x3xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time of npu.rows with period 1
func.func @slow_input(%x : tensor<1x2x8x8xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 1, npu.row_time = array<i64: 2, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x {npu.row_time = array<i64: 2, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time on the layers too
func.func @streamed_chain(%x : tensor<1x2x8x8xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// The second factor is read as a whole.
// CHECK-LABEL: expected layers that read the input row by row, as it arrives
func.func @whole_input(%x : tensor<1x2x8x8xf32>, %q : tensor<1x2x8x8xf32>) {
  %y = npu.rows of %x attributes {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    %1 = npu.matmul %0, %x {npu.row_time = array<i64: 1, 0>} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %1 : tensor<1x2x8x8xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: expected npu.row_time on the layers too
func.func @top_rows_of_a_chain(%x : tensor<1x2x8x8xf32>) {
  %y = npu.rows of %x attributes {npu.top_rows} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.relu %x : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return
}
