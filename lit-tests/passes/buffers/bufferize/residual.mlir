// RUN: npu-opt %s -p npu-bufferize | filecheck %s

// A convolution writes its sum in the place of the residual that dies there.
// CHECK-LABEL: func.func @dies
// CHECK: %a = sram.alloc
// CHECK-NEXT: npu.max_pool2d ins(%x : {{.*}}) outs(%a :
// CHECK-NEXT: npu.conv2d ins(%x, %w, %a : {{.*}}) outs(%a :
// CHECK-NEXT: npu.transpose ins(%a :
func.func @dies(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %a = npu.max_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %c = npu.conv2d %x, %w, %a then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = npu.transpose %c perm [0, 1, 2, 3] : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// Not where it is read later, nor where the convolution reads it elsewhere, itself or as a view.
// CHECK-LABEL: func.func @lives
// CHECK: npu.conv2d ins(%x, %w, %a : {{.*}}) outs(%c :
// CHECK: npu.conv2d ins(%a, %w, %a : {{.*}}) outs(%d :
// CHECK: npu.conv2d ins(%d, %w, %{{.*}} : {{.*}}) outs(%e :
func.func @lives(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x6x4x4xf32> {
  %a = npu.max_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %c = npu.conv2d %x, %w, %a then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = npu.conv2d %a, %w, %a then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %f = npu.reshape %d : tensor<1x2x4x4xf32> -> tensor<32xf32>
  %v = npu.reshape %f : tensor<32xf32> -> tensor<1x2x4x4xf32>
  %e = npu.conv2d %d, %w, %v then add residual first : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = npu.concat %c, %e, %c axis 1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x6x4x4xf32>
  func.return %y : tensor<1x6x4x4xf32>
}
