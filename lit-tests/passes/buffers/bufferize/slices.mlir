// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize)' | filecheck %s

// A slice is a view, and so is a slice of a slice.

// CHECK-LABEL: func.func @views
// CHECK: npu.transpose ins(%x : {{.*}}) outs(%a : memref<4x6xf32, #npu.sram>)
// CHECK-NEXT: %s = memref.subview %a[1, 0] [2, 3] [2, 2] : memref<4x6xf32, #npu.sram> to memref<2x3xf32, strided<[12, 2], offset: 6>, #npu.sram>
// CHECK-NEXT: %t = memref.subview %s[1, 1] [1, 2] [1, 1] : memref<2x3xf32, strided<[12, 2], offset: 6>, #npu.sram> to memref<1x2xf32, strided<[12, 2], offset: 20>, #npu.sram>
// CHECK-NEXT: npu.transpose ins(%t : {{.*}}) outs(%output :
func.func @views(%x: tensor<4x6xf32>) -> tensor<1x2xf32> {
  %a = npu.transpose %x perm [0, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %s = npu.slice %a offsets [1, 0] sizes [2, 3] strides [2, 2] : tensor<4x6xf32> -> tensor<2x3xf32>
  %t = npu.slice %s offsets [1, 1] sizes [1, 2] : tensor<2x3xf32> -> tensor<1x2xf32>
  %r = npu.transpose %t perm [0, 1] : tensor<1x2xf32> -> tensor<1x2xf32>
  func.return %r : tensor<1x2xf32>
}

// No layer overwrites a part: all of the map would live on. The whole map is not overwritten while a
// part of it is read later.

// CHECK-LABEL: func.func @parts
// CHECK: %s = memref.subview %a[0] [2] [1]
// CHECK-NEXT: %b = sram.alloc : memref<4xf32, #npu.sram>
// CHECK-NEXT: npu.relu ins(%a : {{.*}}) outs(%b :
// CHECK-NEXT: %c = sram.alloc : memref<2xf32, #npu.sram>
// CHECK-NEXT: npu.relu ins(%s : {{.*}}) outs(%c :
// CHECK-NEXT: npu.transpose ins(%b :
// CHECK-NEXT: npu.transpose ins(%c :
func.func @parts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %a = npu.transpose %x perm [0] : tensor<4xf32> -> tensor<4xf32>
  %s = npu.slice %a offsets [0] sizes [2] : tensor<4xf32> -> tensor<2xf32>
  %b = npu.relu %a : tensor<4xf32> -> tensor<4xf32>
  %c = npu.relu %s : tensor<2xf32> -> tensor<2xf32>
  %d = npu.transpose %b perm [0] : tensor<4xf32> -> tensor<4xf32>
  %e = npu.transpose %c perm [0] : tensor<2xf32> -> tensor<2xf32>
  func.return %d, %e : tensor<4xf32>, tensor<2xf32>
}

// An output that is a part is copied. A map of which a part is returned too is written straight.

// CHECK-LABEL: func.func @returned
// CHECK: npu.transpose ins(%x : {{.*}}) outs(%output_1 : memref<4xf32, #npu.sram>)
// CHECK-NEXT: %s = memref.subview %output_1[2] [2] [1]
// CHECK-NEXT: "memref.copy"(%s, %output)
// CHECK-NEXT: func.return
func.func @returned(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
  %a = npu.transpose %x perm [0] : tensor<4xf32> -> tensor<4xf32>
  %s = npu.slice %a offsets [2] sizes [2] : tensor<4xf32> -> tensor<2xf32>
  func.return %s, %a : tensor<2xf32>, tensor<4xf32>
}

// A reshape of a slice is a view of the whole buffer where its elements lie one behind the other;
// else the slice is copied first.

// CHECK-LABEL: func.func @reshaped
// CHECK: %r = memref.reinterpret_cast %a to offset: [6], sizes: [3, 4], strides: [4, 1] : memref<4x6xf32, #npu.sram> to memref<3x4xf32, strided<[4, 1], offset: 6>, #npu.sram>
// CHECK: %t = memref.subview %a[0, 1] [4, 3] [1, 1]
// CHECK-NEXT: %t_1 = sram.alloc : memref<4x3xf32, #npu.sram>
// CHECK-NEXT: "memref.copy"(%t, %t_1)
// CHECK-NEXT: %u = memref.reinterpret_cast %t_1 to offset: [0], sizes: [12], strides: [1]
func.func @reshaped(%x: tensor<4x6xf32>) -> (tensor<3x4xf32>, tensor<12xf32>) {
  %a = npu.transpose %x perm [0, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %s = npu.slice %a offsets [1, 0] sizes [2, 6] : tensor<4x6xf32> -> tensor<2x6xf32>
  %r = npu.reshape %s : tensor<2x6xf32> -> tensor<3x4xf32>
  %y = npu.transpose %r perm [0, 1] : tensor<3x4xf32> -> tensor<3x4xf32>
  %t = npu.slice %a offsets [0, 1] sizes [4, 3] : tensor<4x6xf32> -> tensor<4x3xf32>
  %u = npu.reshape %t : tensor<4x3xf32> -> tensor<12xf32>
  %z = npu.transpose %u perm [0] : tensor<12xf32> -> tensor<12xf32>
  func.return %y, %z : tensor<3x4xf32>, tensor<12xf32>
}

// The copy is written straight into the output, if it is returned.

// CHECK-LABEL: func.func @straight
// CHECK: %t = memref.subview %a[0, 1] [4, 3] [1, 1]
// CHECK-NEXT: %[[OUT:.*]] = memref.reinterpret_cast %output to offset: [0], sizes: [4, 3], strides: [3, 1]
// CHECK-NEXT: "memref.copy"(%t, %[[OUT]])
// CHECK-NEXT: %u = memref.reinterpret_cast %[[OUT]] to offset: [0], sizes: [12], strides: [1]
// CHECK-NEXT: npu.relu ins(%u : {{.*}}) outs(%u :
// CHECK-NEXT: func.return
func.func @straight(%x: tensor<4x6xf32>) -> tensor<12xf32> {
  %a = npu.transpose %x perm [0, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %t = npu.slice %a offsets [0, 1] sizes [4, 3] : tensor<4x6xf32> -> tensor<4x3xf32>
  %u = npu.reshape %t : tensor<4x3xf32> -> tensor<12xf32>
  %z = npu.relu %u : tensor<12xf32> -> tensor<12xf32>
  func.return %z : tensor<12xf32>
}
