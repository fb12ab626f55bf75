// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: func.func @products
// GENERIC-LABEL: sym_name = "products"
func.func @products(%a: tensor<2x4x5xf32>, %b: tensor<5x3xf32>, %k: tensor<2x3x5xf32>) {
  // CHECK: npu.matmul %a, %b : (tensor<2x4x5xf32>, tensor<5x3xf32>) -> tensor<2x4x3xf32>
  // GENERIC: "npu.matmul"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<2x4x5xf32>, tensor<5x3xf32>) -> tensor<2x4x3xf32>
  %plain = npu.matmul %a, %b : (tensor<2x4x5xf32>, tensor<5x3xf32>) -> tensor<2x4x3xf32>
  // CHECK: npu.matmul %a, %k transposed_rhs then relu {npu.layer = "scores"} : (tensor<2x4x5xf32>, tensor<2x3x5xf32>) -> tensor<2x4x3xf32>
  // GENERIC: "npu.matmul"(%a, %k) <{transposed_rhs, epilogue = #npu.epilogue<then relu>, operandSegmentSizes = array<i32: 1, 1, 0>}> {npu.layer = "scores"}
  %scores = npu.matmul %a, %k transposed_rhs then relu {npu.layer = "scores"} : (tensor<2x4x5xf32>, tensor<2x3x5xf32>) -> tensor<2x4x3xf32>
  func.return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%a: tensor<4x5xi8>, %b: tensor<5x3xui8>, %m: memref<4x5xi8>, %n: memref<5x3xui8>, %s: memref<4x3xi32>) {
  // CHECK: npu.matmul %a, %b zero_points [-3, 128] then requantize scales [0.5] zero_point 7 mode float : (tensor<4x5xi8>, tensor<5x3xui8>) -> tensor<4x3xui8>
  %y = npu.matmul %a, %b zero_points [-3, 128] then requantize scales [0.5] zero_point 7 mode float : (tensor<4x5xi8>, tensor<5x3xui8>) -> tensor<4x3xui8>
  // CHECK: npu.matmul ins(%m, %n : memref<4x5xi8>, memref<5x3xui8>) outs(%s : memref<4x3xi32>) zero_points [0, 0]
  npu.matmul ins(%m, %n : memref<4x5xi8>, memref<5x3xui8>) outs(%s : memref<4x3xi32>) zero_points [0, 0]
  func.return
}
