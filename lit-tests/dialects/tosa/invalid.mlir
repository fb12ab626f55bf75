// RUN: NPU_DIAGNOSTICS

// CHECK: expected elements of the type of the result, got tensor<2xi8>
%0 = "tosa.const"() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<3xi8>

// -----

// CHECK: expected one attribute with elements, `value` or `values`
%0 = "tosa.const"() : () -> tensor<3xi8>

// -----

// CHECK: function type expected
func.func @f(%x: tensor<3xf32>) {
  %y = tosa.sigmoid %x : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

// CHECK: attribute expected
func.func @f(%x: tensor<3xf32>) {
  %y = tosa.reverse %x {axis = } : (tensor<3xf32>) -> tensor<3xf32>
  return
}
