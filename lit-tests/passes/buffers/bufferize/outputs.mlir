// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// The layer in front of a reshape writes into the output, seen in its own shape; what is returned
// twice, an input or a constant is copied; what is no tensor stays a result.

// CHECK-LABEL: func.func @outputs
// CHECK-SAME: (%x: memref<4xf32, #npu.sram> {sram.input}, %i: index, %output: memref<2x2xf32, #npu.sram> {sram.output}, %output_1: memref<4xf32, #npu.sram> {sram.output}, %output_2: {{.*}}, %output_3: {{.*}}) -> index {
// CHECK: %c = memref.get_global @c
// CHECK-NEXT: %z = memref.reinterpret_cast %output to offset: [0], sizes: [4], strides: [1] : memref<2x2xf32, #npu.sram> to memref<4xf32, #npu.sram>
// CHECK-NEXT: npu.softmax ins(%x : {{.*}}) outs(%z :
// CHECK-NEXT: "memref.copy"(%z, %output_1)
// CHECK-NEXT: "memref.copy"(%x, %output_2)
// CHECK-NEXT: "memref.copy"(%c, %output_3)
// CHECK-NEXT: func.return %i : index
func.func @outputs(%x: tensor<4xf32>, %i: index) -> (tensor<2x2xf32>, tensor<4xf32>, index, tensor<4xf32>, tensor<4xf32>) {
  %c = arith.constant dense<0.5> : tensor<4xf32>
  %z = npu.softmax %x axis 0 : tensor<4xf32> -> tensor<4xf32>
  %r = npu.reshape %z : tensor<4xf32> -> tensor<2x2xf32>
  func.return %r, %z, %i, %x, %c : tensor<2x2xf32>, tensor<4xf32>, index, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @reshaped_input
// CHECK: %r = memref.reinterpret_cast %x
// CHECK-NEXT: "memref.copy"(%r, %output)
func.func @reshaped_input(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %r = npu.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  func.return %r : tensor<2x2xf32>
}

// The last element-wise layer of an input writes into the output instead of a copy behind it.

// CHECK-LABEL: func.func @elementwise
// CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%x :
// CHECK-NEXT: npu.clamp ins(%x : {{.*}}) outs(%output :
// CHECK-NEXT: func.return
func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  %z = npu.clamp %y low 0.0 high 1.0 : tensor<4xf32> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
