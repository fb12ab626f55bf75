// RUN: npu-opt %s -p canonicalize | filecheck %s

// Two activations in a row are one.
// CHECK-LABEL: func.func @activations
// CHECK-NEXT: %a = npu.relu %x
// CHECK-NEXT: %d = npu.clamp %x low 1.0 high 6.0
// CHECK-NEXT: %f = npu.clamp %x low 0.0 high 4.0
// CHECK-NEXT: func.return %a, %d, %f
func.func @activations(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = npu.relu %x : tensor<8xf32> -> tensor<8xf32>
  %b = npu.relu %a : tensor<8xf32> -> tensor<8xf32>
  %c = npu.clamp %x low -3.0 high 6.0 : tensor<8xf32> -> tensor<8xf32>
  %d = npu.clamp %c low 1.0 high 9.0 : tensor<8xf32> -> tensor<8xf32>
  %e = npu.relu %x : tensor<8xf32> -> tensor<8xf32>
  %f = npu.clamp %e low -2.0 high 4.0 : tensor<8xf32> -> tensor<8xf32>
  func.return %b, %d, %f : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A clamp that lets everything through is none.
// CHECK-LABEL: func.func @open_clamp
// CHECK-NEXT: func.return %x
func.func @open_clamp(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = npu.clamp %x low -inf high inf : tensor<8xf32> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// An activation that others read too stays, and what reads it with it: %x need not live on.
// CHECK-LABEL: func.func @read_twice
// CHECK-NEXT: %a = npu.relu %x
// CHECK-NEXT: %b = npu.clamp %a low -2.0 high 4.0
// CHECK-NEXT: func.return %a, %b
func.func @read_twice(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = npu.relu %x : tensor<8xf32> -> tensor<8xf32>
  %b = npu.clamp %a low -2.0 high 4.0 : tensor<8xf32> -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// Reshapes in a row are the last one, which is none if the shape is that of the start.
// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT: %b = npu.reshape %x : tensor<1x2x3xf32> -> tensor<6xf32>
// CHECK-NEXT: func.return %b, %x
func.func @reshapes(%x: tensor<1x2x3xf32>) -> (tensor<6xf32>, tensor<1x2x3xf32>) {
  %a = npu.reshape %x : tensor<1x2x3xf32> -> tensor<3x2xf32>
  %b = npu.reshape %a : tensor<3x2xf32> -> tensor<6xf32>
  %c = npu.reshape %a : tensor<3x2xf32> -> tensor<1x2x3xf32>
  func.return %b, %c : tensor<6xf32>, tensor<1x2x3xf32>
}

// So are transpositions; one that moves no axis is none.
// CHECK-LABEL: func.func @transpositions
// CHECK-NEXT: %b = npu.transpose %x perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: func.return %b, %x, %x
func.func @transpositions(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %a = npu.transpose %x perm [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %b = npu.transpose %a perm [1, 0, 2] : tensor<2x4x3xf32> -> tensor<4x2x3xf32>
  %c = npu.transpose %a perm [0, 2, 1] : tensor<2x4x3xf32> -> tensor<2x3x4xf32>
  %d = npu.transpose %x perm [0, 1, 2] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %b, %c, %d : tensor<4x2x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// One map needs no concatenation.
// CHECK-LABEL: func.func @one_part
// CHECK-NEXT: func.return %x
func.func @one_part(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  %y = npu.concat %x axis 1 : tensor<1x2x3xf32> -> tensor<1x2x3xf32>
  func.return %y : tensor<1x2x3xf32>
}

// The name of a layer and that of its result stay with what computes it.
// CHECK-LABEL: func.func @names
// CHECK-NEXT: %d = npu.clamp %x low 1.0 high 6.0 {npu.layer = "second", npu.value = "y"}
func.func @names(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = npu.clamp %x low -3.0 high 6.0 {npu.layer = "first"} : tensor<8xf32> -> tensor<8xf32>
  %d = npu.clamp %c low 1.0 high 9.0 {npu.layer = "second", npu.value = "y"} : tensor<8xf32> -> tensor<8xf32>
  func.return %d : tensor<8xf32>
}

// Layers on buffers stay: what they write may be read anywhere.
// CHECK-LABEL: func.func @buffers
// CHECK-NEXT: npu.relu ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
// CHECK-NEXT: npu.relu ins(%y : memref<8xf32>) outs(%y : memref<8xf32>)
func.func @buffers(%x: memref<8xf32>, %y: memref<8xf32>) {
  npu.relu ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  npu.relu ins(%y : memref<8xf32>) outs(%y : memref<8xf32>)
  func.return
}

// Slices in a row are one; a slice of everything is none.
// CHECK-LABEL: func.func @slices
// CHECK-NEXT: %b = npu.slice %x offsets [3, 1] sizes [1, 2] strides [4, 1] : tensor<6x4xf32> -> tensor<1x2xf32>
// CHECK-NEXT: func.return %b, %x
func.func @slices(%x: tensor<6x4xf32>) -> (tensor<1x2xf32>, tensor<6x4xf32>) {
  %a = npu.slice %x offsets [1, 1] sizes [3, 3] strides [2, 1] : tensor<6x4xf32> -> tensor<3x3xf32>
  %b = npu.slice %a offsets [1, 0] sizes [1, 2] strides [2, 1] : tensor<3x3xf32> -> tensor<1x2xf32>
  %c = npu.slice %x offsets [0, 0] sizes [6, 4] : tensor<6x4xf32> -> tensor<6x4xf32>
  func.return %b, %c : tensor<1x2xf32>, tensor<6x4xf32>
}

// What picks neighbours at equal distances is a slice; what picks all of them in order is nothing.
// CHECK-LABEL: func.func @picks
// CHECK-NEXT: %a = npu.slice %x offsets [1, 0] sizes [3, 4] strides [2, 1] {npu.layer = "a"} : tensor<6x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT: %b = npu.pick %x axis 0 [5 to 0] : tensor<6x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT: func.return %a, %b, %x
func.func @picks(%x: tensor<6x4xf32>) -> (tensor<3x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %a = npu.pick %x axis 0 [1 to 5 by 2] {npu.layer = "a"} : tensor<6x4xf32> -> tensor<3x4xf32>
  %b = npu.pick %x axis 0 [5 to 0] : tensor<6x4xf32> -> tensor<6x4xf32>
  %c = npu.pick %x axis 0 [0 to 5] axis 1 [0 to 3] : tensor<6x4xf32> -> tensor<6x4xf32>
  func.return %a, %b, %c : tensor<3x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}
