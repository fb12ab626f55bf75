// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-order-layers{when=fits})' | filecheck %s
// CHECK-NOT: npu.peak

builtin.module attributes {npu.target = #npu.target<"large", {sram_bytes = 4096 : i64, flash_bytes = 4096 : i64}>} {

// A chain has one order.
// CHECK-LABEL: func.func @chain
// CHECK: npu.max_pool2d
// CHECK-NEXT: npu.relu
func.func @chain(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x4x4xf32> {
  %a = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>
  %y = npu.relu %a : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}

// No order is better than this one: the large map first.
// CHECK-LABEL: func.func @is_best
// CHECK: npu.concat %x
// CHECK-NEXT: npu.max_pool2d
// CHECK-NEXT: npu.softmax
func.func @is_best(%x: tensor<1x1x8x8xf32>) -> (tensor<1x1x8x8xf32>, tensor<1x4x2x2xf32>) {
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  func.return %a, %s : tensor<1x1x8x8xf32>, tensor<1x4x2x2xf32>
}

// An op with an effect keeps its place among the layers, and so does all of its function.
// CHECK-LABEL: func.func @effect
// CHECK: npu.softmax
// CHECK-NEXT: func.call @tick
// CHECK-NEXT: npu.concat
func.func @effect(%x: tensor<1x1x8x8xf32>) -> (tensor<1x1x8x8xf32>, tensor<1x4x2x2xf32>) {
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  func.call @tick() : () -> ()
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  func.return %a, %s : tensor<1x1x8x8xf32>, tensor<1x4x2x2xf32>
}
func.func private @tick() -> ()

// Layers with states: their order says when the state changes.
// CHECK-LABEL: func.func @state
// CHECK: npu.softmax
// CHECK-NEXT: npu.concat
func.func @state(%x: tensor<1x1x8x8xf32> {npu.state = "s"}) -> (tensor<1x1x8x8xf32> {npu.state = "s"}, tensor<1x4x2x2xf32>) {
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %big = npu.concat %x, %x, %x, %x axis 1 : (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %s = npu.max_pool2d %big kernel [4, 4] strides [4, 4] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x2x2xf32>
  func.return %a, %s : tensor<1x1x8x8xf32>, tensor<1x4x2x2xf32>
}

// Regions: the order inside an npu.module is that of its branches, and npu.rows has been planned for this order.
// CHECK-LABEL: func.func @regions
// CHECK: npu.softmax
// CHECK-NEXT: npu.rows
func.func @regions(%x: tensor<1x1x8x8xf32>) -> (tensor<1x1x8x8xf32>, tensor<1x1x2x2xf32>) {
  %a = npu.softmax %x axis 3 : tensor<1x1x8x8xf32> -> tensor<1x1x8x8xf32>
  %r = npu.rows of %x : tensor<1x1x8x8xf32> -> tensor<1x1x2x2xf32> {
    %0 = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>
    %1 = npu.max_pool2d %0 kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>
    npu.yield %1 : tensor<1x1x2x2xf32>
  }
  func.return %a, %r : tensor<1x1x8x8xf32>, tensor<1x1x2x2xf32>
}

// Layers on buffers have their memory already.
// CHECK-LABEL: func.func @buffers
// CHECK: npu.relu ins
func.func @buffers(%x: memref<4xf32, #npu.sram>) {
  npu.relu ins(%x : memref<4xf32, #npu.sram>) outs(%x : memref<4xf32, #npu.sram>)
  func.return
}

}
