// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// A map that dies is overwritten, the caller's input and a view included.

// CHECK-LABEL: func.func @dies
// CHECK-SAME: (%x: memref<2x2xf32, #npu.sram> {sram.input}, %output: memref<4xf32, #npu.sram> {sram.output})
// CHECK-NEXT: npu.relu ins(%x : memref<2x2xf32, #npu.sram>) outs(%x : memref<2x2xf32, #npu.sram>)
// CHECK-NEXT: %v = memref.reinterpret_cast %x
// CHECK-NEXT: npu.clamp ins(%v : memref<4xf32, #npu.sram>) outs(%v : memref<4xf32, #npu.sram>) low 0.0 high 1.0
// CHECK-NEXT: npu.transpose ins(%v : memref<4xf32, #npu.sram>) outs(%output : memref<4xf32, #npu.sram>) perm [0]
func.func @dies(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %y = npu.relu %x : tensor<2x2xf32> -> tensor<2x2xf32>
  %v = npu.reshape %y : tensor<2x2xf32> -> tensor<4xf32>
  %z = npu.clamp %v low 0.0 high 1.0 : tensor<4xf32> -> tensor<4xf32>
  %r = npu.transpose %z perm [0] : tensor<4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// A map that is read later, through a view, is not.

// CHECK-LABEL: func.func @lives
// CHECK: %v = memref.reinterpret_cast %a
// CHECK-NEXT: %y = sram.alloc
// CHECK-NEXT: npu.relu ins(%a : {{.*}}) outs(%y :
// CHECK: npu.transpose ins(%v :
func.func @lives(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<4xf32>) {
  %a = npu.transpose %x perm [0, 1] : tensor<2x2xf32> -> tensor<2x2xf32>
  %v = npu.reshape %a : tensor<2x2xf32> -> tensor<4xf32>
  %y = npu.relu %a : tensor<2x2xf32> -> tensor<2x2xf32>
  %z = npu.transpose %y perm [0, 1] : tensor<2x2xf32> -> tensor<2x2xf32>
  %w = npu.transpose %v perm [0] : tensor<4xf32> -> tensor<4xf32>
  func.return %z, %w : tensor<2x2xf32>, tensor<4xf32>
}

// A returned argument is not overwritten; nor is a parameter, nor a map of another shape.

// CHECK-LABEL: func.func @returned
// CHECK-SAME: (%x: {{.*}}, %output: {{.*}}, %output_1:
// CHECK-NEXT: %y = sram.alloc
// CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%y :
// CHECK-NEXT: npu.transpose ins(%y : {{.*}}) outs(%output_1 :
// CHECK-NEXT: "memref.copy"(%x, %output)
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
  %z = npu.transpose %y perm [0] : tensor<4xf32> -> tensor<4xf32>
  func.return %x, %z : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @constant
// CHECK: %c = memref.get_global @c
// CHECK-NEXT: npu.add ins(%c, %x : {{.*}}) outs(%x :
// CHECK-NEXT: %wide = sram.alloc
// CHECK-NEXT: npu.add ins(%x, %w : {{.*}}) outs(%wide :
func.func @constant(%x: tensor<1x4xf32>, %w: tensor<4x1xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<1.0> : tensor<1x4xf32>
  %y = npu.add %c, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %wide = npu.add %y, %w : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %z = npu.transpose %wide perm [0, 1] : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}

// The same buffer in two shapes: element i would be read after it was overwritten.

// CHECK-LABEL: func.func @two_shapes
// CHECK: %s = sram.alloc
// CHECK-NEXT: npu.add ins(%a, %v : {{.*}}) outs(%s :
func.func @two_shapes(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %a = npu.transpose %x perm [0, 1] : tensor<1x1xf32> -> tensor<1x1xf32>
  %v = npu.reshape %a : tensor<1x1xf32> -> tensor<1xf32>
  %s = npu.add %a, %v : (tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  %z = npu.transpose %s perm [0, 1] : tensor<1x1xf32> -> tensor<1x1xf32>
  func.return %z : tensor<1x1xf32>
}
