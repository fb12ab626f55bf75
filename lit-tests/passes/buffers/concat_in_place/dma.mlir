// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-bufferize,npu-concat-in-place)' | filecheck %s

// The slices of a map in patches begin and end with whole patches; the caller's map is fetched into its
// slice. An output off the chip is put together on chip.

builtin.module attributes {npu.target = #npu.target<"exynos-npu", {sram_bytes = 16384 : i64, flash_bytes = 1073741824 : i64, row_multiple = 4 : i64, column_multiple = 4 : i64, dma_channels = 4 : i64}>} {

// CHECK-LABEL: func.func @slices
// CHECK-NEXT: %output_1 = sram.alloc : memref<1x5x5x6xf32, strided<[320, 64, 8, 1]>, #npu.sram>
// CHECK-NEXT: %a = memref.subview %output_1[0, 0, 0, 0] [1, 2, 5, 6] [1, 1, 1, 1] : {{.*}} to memref<1x2x5x6xf32, strided<[320, 64, 8, 1]>, #npu.sram>
// CHECK-NEXT: npu.relu ins(%x : {{.*}}) outs(%a :
// CHECK-NEXT: %b = memref.subview %output_1[0, 2, 0, 0] [1, 1, 5, 6] [1, 1, 1, 1] : {{.*}} to memref<1x1x5x6xf32, strided<[320, 64, 8, 1], offset: 128>, #npu.sram>
// CHECK-NEXT: npu.clamp ins(%z : {{.*}}) outs(%b :
// CHECK-NEXT: %x_1 = memref.subview %output_1[0, 3, 0, 0]
// CHECK-NEXT: "memref.copy"(%x, %x_1) {npu.layer = "cat"}
// CHECK-NEXT: "memref.copy"(%output_1, %output)
func.func @slices(%x: tensor<1x2x5x6xf32>, %z: tensor<1x1x5x6xf32>) -> tensor<1x5x5x6xf32> {
  %a = npu.relu %x : tensor<1x2x5x6xf32> -> tensor<1x2x5x6xf32>
  %b = npu.clamp %z low 0.0 high 1.0 : tensor<1x1x5x6xf32> -> tensor<1x1x5x6xf32>
  %y = npu.concat %a, %b, %x axis 1 {npu.layer = "cat"} : (tensor<1x2x5x6xf32>, tensor<1x1x5x6xf32>, tensor<1x2x5x6xf32>) -> tensor<1x5x5x6xf32>
  func.return %y : tensor<1x5x5x6xf32>
}

// One that does not fit is not put together on chip: 9 channels of 8x64 floats are 18 KB.

// CHECK-LABEL: func.func @large
// CHECK: npu.concat ins(%a, %b : {{.*}}) outs(%output : memref<1x9x5x64xf32, #npu.dram>)
// CHECK-NEXT: func.return
func.func @large(%x: tensor<1x8x5x64xf32>, %z: tensor<1x1x5x64xf32>) -> tensor<1x9x5x64xf32> {
  %a = npu.relu %x : tensor<1x8x5x64xf32> -> tensor<1x8x5x64xf32>
  %b = npu.relu %z : tensor<1x1x5x64xf32> -> tensor<1x1x5x64xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x8x5x64xf32>, tensor<1x1x5x64xf32>) -> tensor<1x9x5x64xf32>
  func.return %y : tensor<1x9x5x64xf32>
}

// Concatenations in concatenations, overwritten in place behind them.

// CHECK-LABEL: func.func @nested
// CHECK-NEXT: %v = sram.alloc : memref<1x3x5x6xf32, strided<[192, 64, 8, 1]>, #npu.sram>
// CHECK-NEXT: %y = memref.subview %v[0, 0, 0, 0] [1, 2, 5, 6]
// CHECK-NEXT: %a = memref.subview %y[0, 0, 0, 0] [1, 1, 5, 6]
// CHECK: %b = memref.subview %y[0, 1, 0, 0] [1, 1, 5, 6]
// CHECK: memref<1x1x5x6xf32, strided<[192, 64, 8, 1], offset: 64>, #npu.sram>
// CHECK: %c = memref.subview %v[0, 2, 0, 0]
// CHECK: npu.relu ins(%v : {{.*}}) outs(%v :
func.func @nested(%x: tensor<1x1x5x6xf32>) -> tensor<1x3x5x6xf32> {
  %a = npu.relu %x : tensor<1x1x5x6xf32> -> tensor<1x1x5x6xf32>
  %b = npu.clamp %x low 0.0 high 1.0 : tensor<1x1x5x6xf32> -> tensor<1x1x5x6xf32>
  %y = npu.concat %a, %b axis 1 : (tensor<1x1x5x6xf32>, tensor<1x1x5x6xf32>) -> tensor<1x2x5x6xf32>
  %c = npu.clamp %x low 0.0 high 2.0 : tensor<1x1x5x6xf32> -> tensor<1x1x5x6xf32>
  %v = npu.concat %y, %c axis 1 : (tensor<1x2x5x6xf32>, tensor<1x1x5x6xf32>) -> tensor<1x3x5x6xf32>
  %r = npu.relu %v : tensor<1x3x5x6xf32> -> tensor<1x3x5x6xf32>
  func.return %r : tensor<1x3x5x6xf32>
}

}
