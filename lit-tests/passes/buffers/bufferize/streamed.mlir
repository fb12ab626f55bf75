// RUN: npu-opt %s -p npu-bufferize | filecheck %s

// The caller has the input, row by row. Rows of it enter a ring as if a layer computed them; below the map there is padding.
// CHECK-LABEL: func.func @ring(%x: memref<1x2x8x8xf32, strided<[128, 8, 16, 1]>> {npu.stream}, %w:
// CHECK: %[[COUNT:.*]] = sram.alloc {npu.stream_count} : memref<1xi32, #npu.sram>
// CHECK-NEXT: memref.store %{{.*}}, %[[COUNT]]
// CHECK: %[[RING:.*]] = sram.alloc : memref<1x2x3x8xf32, #npu.sram>
// CHECK: scf.for %t = %c0{{.*}} to %c9
// CHECK: %from = memref.subview %[[RING]][0, 0, 1, 0] [1, 2, 2, 8]
// CHECK: "memref.copy"(%from, %to)
// CHECK: %[[NEW:.*]] = memref.subview %[[RING]][0, 0, %slot, 0] [1, 2, 1, 8]
// CHECK: scf.if
// CHECK-NEXT: %[[ROW:.*]] = memref.subview %x[0, 0, %t, 0] [1, 2, 1, 8]
// CHECK-NEXT: "memref.copy"(%[[ROW]], %[[NEW]])
// CHECK: } else {
// CHECK: memref.store %{{.*}}, %[[NEW]]
// CHECK: npu.conv2d ins(%[[RING]], {{.*}} pads [0, 1, 0, 1] {npu.runs = 8 : i64}
// CHECK: } {npu.stream_steps = array<i64: 8, 0>}
// CHECK: %[[DONE:.*]] = arith.constant 9 : i32
// CHECK: memref.store %[[DONE]], %[[COUNT]]
// CHECK-NEXT: func.return
func.func @ring(%x : tensor<1x2x8x8xf32> {npu.stream}, %w : tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = npu.rows of %x attributes {npu.ring = 3, npu.row_time = array<i64: 1, 0>} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32> {
    %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] {npu.row_time = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    npu.yield %0 : tensor<1x2x8x8xf32>
  }
  func.return %y : tensor<1x2x8x8xf32>
}

// The only reader takes a row where it arrives. It does not overwrite the caller's memory.
// CHECK-LABEL: func.func @taken(%x: memref<1x1x8x8xf32> {npu.stream}, %output:
// CHECK: scf.for %t
// CHECK-NEXT: %[[TO:.*]] = memref.subview %output[0, 0, %t, 0] [1, 1, 1, 8]
// CHECK-NEXT: %[[FROM:.*]] = memref.subview %x[0, 0, %t, 0] [1, 1, 1, 8]
// CHECK-NEXT: npu.relu ins(%[[FROM]] {{.*}} outs(%[[TO]]
func.func @taken(%x : tensor<1x1x8x8xf32> {npu.stream}) -> tensor<1x1x8x8xf32> {
  %y = npu.rows of %x attributes {npu.ring = 0, npu.row_time = array<i64: 1, 0>} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32> {
    %0 = npu.relu %x {npu.row_time = array<i64: 1, 0>} : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
    npu.yield %0 : tensor<1x1x8x8xf32>
  }
  func.return %y : tensor<1x1x8x8xf32>
}

// All rows arrive, though only the first one is needed: a step for each.
// CHECK-LABEL: func.func @passed_over
// CHECK: scf.for %t = %c0{{.*}} to %c3
// CHECK: } {npu.stream_steps = array<i64: 3, 0>}
func.func @passed_over(%x : tensor<1x1x3x8xf32> {npu.stream}, %w : tensor<1x1x1x1xf32>) -> tensor<1x1x1x8xf32> {
  %y = npu.rows of %x attributes {npu.ring = 1, npu.row_time = array<i64: 1, 0>} : tensor<1x1x3x8xf32> -> tensor<1x1x1x8xf32> {
    %0 = npu.conv2d %x, %w strides [3, 1] {npu.row_time = array<i64: 3, 0>} : (tensor<1x1x3x8xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x8xf32>
    npu.yield %0 : tensor<1x1x1x8xf32>
  }
  func.return %y : tensor<1x1x1x8xf32>
}
