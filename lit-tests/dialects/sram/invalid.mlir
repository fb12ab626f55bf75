// RUN: NPU_DIAGNOSTICS

func.func @f() {
  %a = sram.alloc : memref<?xf32, #npu.sram>
  func.return
}
// CHECK: expected a static shape, got memref<?xf32, #npu.sram>

// -----

func.func @f() {
  %a = sram.alloc at -4 : memref<4xf32, #npu.sram>
  func.return
}
// CHECK: expected an offset of at least 0, got -4

// -----

func.func @f(%x : memref<1x4x2x8xi8, strided<[160, 1, 32, 4], offset: ?>>) {
  %a = sram.span %x : memref<1x4x2x8xi8, strided<[160, 1, 32, 4], offset: ?>> to memref<65xi8>
  func.return
}
// CHECK: expected a result of memref<64xi8>, got memref<65xi8>

// -----

func.func @f(%x : memref<4x?xi8>) {
  %a = sram.span %x : memref<4x?xi8> to memref<4xi8>
  func.return
}
// CHECK: expected a static shape and static strides, got memref<4x?xi8>
