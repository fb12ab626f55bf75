// RUN: npu-opt --pass-pipeline=npu-merge-layers %s | filecheck %s

// The second ReLU computes what the first one does, and nothing else reads the map.
// CHECK-LABEL: func.func @cells
// CHECK:         %a = npu.relu %x {npu.layer = "old"}
// CHECK-NEXT:    %p = npu.max_pool2d %a kernel [2, 2]
// CHECK-NEXT:    %q = npu.max_pool2d %a kernel [3, 3]
// CHECK-NEXT:    func.return %p, %q
func.func @cells(%x : tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %a = npu.relu %x {npu.layer = "old"} : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %p = npu.max_pool2d %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %b = npu.relu %x {npu.layer = "new"} : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %q = npu.max_pool2d %b kernel [3, 3] strides [1, 1] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return %p, %q : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// The readers of merged layers may be alike, too.
// CHECK-LABEL: func.func @chains
// CHECK:         %a = npu.relu %x
// CHECK-NEXT:    %p = npu.max_pool2d %a
// CHECK-NEXT:    %s = npu.add %p, %p
// CHECK-NEXT:    func.return %s
func.func @chains(%x : tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %a = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %p = npu.max_pool2d %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %b = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %q = npu.max_pool2d %b kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %s = npu.add %p, %q : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %s : tensor<1x2x2x2xf32>
}

// One layer reads both pools, so one of them is alive in their place, also if the map stays.
// CHECK-LABEL: func.func @same_reader
// CHECK:         %p = npu.max_pool2d %x
// CHECK-NEXT:    %s = npu.add %p, %p
// CHECK-NOT:     npu.max_pool2d
func.func @same_reader(%x : tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
  %p = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %q = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %s = npu.add %p, %q : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %r = npu.clamp %x low 0.0 high 1.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %s, %r : tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
}

// Another layer reads one of the two as well, so it may have to be kept longer than now.
// CHECK-LABEL: func.func @one_more_reader
// CHECK-COUNT-2: npu.max_pool2d
func.func @one_more_reader(%x : tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
  %p = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %q = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %s = npu.add %p, %q : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %t = npu.relu %q : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  %r = npu.clamp %x low 0.0 high 1.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %s, %t, %r : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
}

// Another layer reads the map, so it would live beside the result.
// CHECK-LABEL: func.func @another_reader
// CHECK-COUNT-2: npu.relu
func.func @another_reader(%x : tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
  %a = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %p = npu.max_pool2d %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %b = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %q = npu.max_pool2d %b kernel [3, 3] strides [1, 1] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %r = npu.clamp %x low 0.0 high 1.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %p, %q, %r : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
}

// The windows differ.
// CHECK-LABEL: func.func @other_attributes
// CHECK-COUNT-2: npu.max_pool2d
func.func @other_attributes(%x : tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %p = npu.max_pool2d %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %q = npu.max_pool2d %x kernel [3, 3] strides [1, 1] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %s = npu.add %p, %q : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %s : tensor<1x2x2x2xf32>
}

// The larger maps would live where the small one does.
// CHECK-LABEL: func.func @larger
// CHECK-COUNT-2: npu.pick
func.func @larger(%x : tensor<1x2x2x2xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %a = npu.pick %x axis 2 [0 to 1 each 2] axis 3 [0 to 1 each 2] : tensor<1x2x2x2xf32> -> tensor<1x2x4x4xf32>
  %p = npu.relu %a : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %b = npu.pick %x axis 2 [0 to 1 each 2] axis 3 [0 to 1 each 2] : tensor<1x2x2x2xf32> -> tensor<1x2x4x4xf32>
  %q = npu.clamp %b low 0.0 high 1.0 : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %p, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// Each result of a function has a buffer of its own.
// CHECK-LABEL: func.func @results
// CHECK-COUNT-2: npu.relu
func.func @results(%x : tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %a = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %b = npu.relu %x : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %a, %b : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// Ops of other dialects, with operands that only they read.
// CHECK-LABEL: func.func @foreign
// CHECK-COUNT-1: tensor.collapse_shape
// CHECK-NOT:     tensor.collapse_shape
func.func @foreign(%x : tensor<2x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %p = npu.relu %a : tensor<8xf32> -> tensor<8xf32>
  %b = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %q = npu.clamp %b low 0.0 high 1.0 : tensor<8xf32> -> tensor<8xf32>
  func.return %p, %q : tensor<8xf32>, tensor<8xf32>
}
