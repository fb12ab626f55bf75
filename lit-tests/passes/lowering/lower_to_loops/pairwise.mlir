// RUN: npu-opt %s -p npu-lower-to-loops | filecheck %s

// Axes that all maps have, or that one lacks, become one loop. The number of a channel is read in
// front of the loop over its pixels.
// CHECK-LABEL: func.func @gate
// CHECK: [[A:%.*]] = memref.reinterpret_cast %a to offset: [0], sizes: [2, 12], strides: [12, 1]
// CHECK: [[G:%.*]] = memref.reinterpret_cast %g to offset: [0], sizes: [2, 1], strides: [1, 1]
// CHECK: scf.for %i = %c0 to %c2
// CHECK-NEXT: [[GATE:%.*]] = memref.load [[G]][%i, %c0]
// CHECK-NEXT: scf.for %j = %c0 to %c12
// CHECK-NEXT: [[X:%.*]] = memref.load [[A]][%i, %j]
// CHECK-NEXT: arith.subf [[X]], [[GATE]] : f32
func.func @gate(%a: memref<1x2x3x4xf32>, %g: memref<2x1x1xf32>, %y: memref<1x2x3x4xf32>) {
  npu.binary ins(%a, %g : memref<1x2x3x4xf32>, memref<2x1x1xf32>) outs(%y : memref<1x2x3x4xf32>) with sub
  func.return
}

// A single number is read once. A comparison gives a byte of 0 or 1.
// CHECK-LABEL: func.func @mask
// CHECK: [[B:%.*]] = memref.load %{{.*}}[%c0] : memref<1xf32>
// CHECK: scf.for %i = %c0 to %c6
// CHECK: [[LESS:%.*]] = arith.cmpf olt, %{{.*}}, [[B]] : f32
// CHECK-NEXT: arith.extui [[LESS]] : i1 to i32
func.func @mask(%a: memref<2x3xf32>, %b: memref<f32>, %y: memref<2x3xui8>) {
  npu.binary ins(%a, %b : memref<2x3xf32>, memref<f32>) outs(%y : memref<2x3xui8>) with less
  func.return
}

// A divisor of 0 or -1 never reaches the division.
// CHECK-LABEL: func.func @integers
// CHECK: %divisor = arith.select %{{.*}}, %cst{{.*}}, %{{.*}} : i32
// CHECK: arith.divsi %{{.*}}, %divisor : i32
func.func @integers(%a: memref<4xi32>, %y: memref<4xi32>) {
  npu.binary ins(%a, %a : memref<4xi32>, memref<4xi32>) outs(%y : memref<4xi32>) with div
  func.return
}

// What is dequantised for a channel stays in front of the loop over its pixels.
// CHECK-LABEL: func.func @quantised
// CHECK: scf.for %i
// CHECK: [[GATE:%.*]] = arith.mulf
// CHECK-NEXT: scf.for %j
// CHECK: [[X:%.*]] = arith.mulf
// CHECK-NEXT: [[P:%.*]] = arith.mulf [[X]], [[GATE]] : f32
// CHECK-NEXT: arith.divf [[P]]
func.func @quantised(%a: memref<1x2x3x4xi8>, %g: memref<1x2x1x1xi8>, %y: memref<1x2x3x4xi8>) {
  npu.quantized_binary ins(%a, %g : memref<1x2x3x4xi8>, memref<1x2x1x1xi8>) outs(%y : memref<1x2x3x4xi8>) with mul scales [0.5, 0.25, 0.125] zero_points [1, 2, 3] mode float
  func.return
}

// The last axis stays: four neighbours at once, and the rest one by one.
// CHECK-LABEL: func.func @channels
// CHECK: scf.for %i = %c0 to %c8 step %c4
// CHECK: scf.for %k = %c0 to %c3 step %c1 iter_args({{.*}}) -> (f32, f32, f32, f32) {
// CHECK: scf.for %{{.*}} = %c8 to %c10 step %c1
func.func @channels(%x: memref<1x3x2x5xf32>, %y: memref<1x1x2x5xf32>) {
  npu.reduce ins(%x : memref<1x3x2x5xf32>) outs(%y : memref<1x1x2x5xf32>) with max axes [1]
  func.return
}

// A long sum is one of partial sums of 128 numbers each.
// CHECK-LABEL: func.func @long
// CHECK: scf.for %k = %c256 to %c300 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c128
// CHECK: scf.for
func.func @long(%x: memref<300xf32>, %y: memref<1xf32>) {
  npu.reduce ins(%x : memref<300xf32>) outs(%y : memref<1xf32>) with sum axes [0]
  func.return
}

// Integers need no partial sums.
// CHECK-LABEL: func.func @integer_sum
// CHECK: scf.for %k = %c0 to %c300
func.func @integer_sum(%x: memref<300xi32>, %y: memref<1xi32>) {
  npu.reduce ins(%x : memref<300xi32>) outs(%y : memref<1xi32>) with sum axes [0]
  func.return
}
