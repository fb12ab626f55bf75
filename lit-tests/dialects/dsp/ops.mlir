// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: @words
// GENERIC-LABEL: "words"
func.func @words(%m: memref<64xi8, #npu.sram>, %u: memref<?xui8, strided<[1], offset: ?>>, %i: index, %f: f32, %h: memref<8xi16>, %pairs: memref<8xi32>, %row: memref<8xf32, strided<[1], offset: ?>>) {
  // CHECK: %x = dsp.load_word %m[%i] : memref<64xi8, #npu.sram> -> i32
  // GENERIC: %x = "dsp.load_word"(%m, %i) : (memref<64xi8, #npu.sram>, index) -> i32
  %x = dsp.load_word %m[%i] : memref<64xi8, #npu.sram> -> i32
  // CHECK-NEXT: %y = dsp.load_word %u[%i] : memref<?xui8, strided<[1], offset: ?>> -> i32
  %y = dsp.load_word %u[%i] : memref<?xui8, strided<[1], offset: ?>> -> i32
  // CHECK-NEXT: %w = dsp.load_word %h[%i] : memref<8xi16> -> i32
  %w = dsp.load_word %h[%i] : memref<8xi16> -> i32
  // CHECK-NEXT: %v0, %v1 = dsp.load_pair %pairs[%i] : memref<8xi32> -> i32, i32
  // GENERIC: %v0, %v1 = "dsp.load_pair"(%pairs, %i) : (memref<8xi32>, index) -> (i32, i32)
  %v0, %v1 = dsp.load_pair %pairs[%i] : memref<8xi32> -> i32, i32
  // CHECK-NEXT: %f0, %f1, %f2 = dsp.load_floats %row[%i] to 4 : memref<8xf32, strided<[1], offset: ?>> -> f32, f32, f32
  // GENERIC: %f0, %f1, %f2 = "dsp.load_floats"(%row, %i) <{register = 4 : i64}> : (memref<8xf32, strided<[1], offset: ?>>, index) -> (f32, f32, f32)
  %f0, %f1, %f2 = dsp.load_floats %row[%i] to 4 : memref<8xf32, strided<[1], offset: ?>> -> f32, f32, f32
  // CHECK-NEXT: dsp.store_floats %f0, %f1 from 4 to %row[%i] : f32, f32 to memref<8xf32, strided<[1], offset: ?>>
  // GENERIC: "dsp.store_floats"(%f0, %f1, %row, %i) <{register = 4 : i64}> : (f32, f32, memref<8xf32, strided<[1], offset: ?>>, index) -> ()
  dsp.store_floats %f0, %f1 from 4 to %row[%i] : f32, f32 to memref<8xf32, strided<[1], offset: ?>>
  // CHECK-NEXT: %a = dsp.sxtb16 %x rotate 0 : i32
  // GENERIC: %a = "dsp.sxtb16"(%x) <{rotate = 0 : i64}> : (i32) -> i32
  %a = dsp.sxtb16 %x rotate 0 : i32
  // CHECK-NEXT: %b = dsp.uxtb16 %y rotate 8 : i32
  %b = dsp.uxtb16 %y rotate 8 : i32
  // CHECK-NEXT: %c = dsp.sxtab16 %a, %x rotate 8 {note = "c"} : i32
  %c = dsp.sxtab16 %a, %x rotate 8 {note = "c"} : i32
  // CHECK-NEXT: %d = dsp.uxtab16 %b, %y rotate 0 : i32
  %d = dsp.uxtab16 %b, %y rotate 0 : i32
  // CHECK-NEXT: %r = dsp.smlad %a, %b, %c in_place : i32
  // GENERIC: %r = "dsp.smlad"(%a, %b, %c) <{in_place}> : (i32, i32, i32) -> i32
  %r = dsp.smlad %a, %b, %c in_place : i32
  // CHECK-NEXT: %s = dsp.smlad %a, %b, %c : i32
  // GENERIC: %s = "dsp.smlad"(%a, %b, %c) : (i32, i32, i32) -> i32
  %s = dsp.smlad %a, %b, %c : i32
  // CHECK-NEXT: %t = dsp.smla %a, %b, %s halves tb : i32
  // GENERIC: %t = "dsp.smla"(%a, %b, %s) <{halves = #dsp<halves tb>}> : (i32, i32, i32) -> i32
  %t = dsp.smla %a, %b, %s halves tb : i32
  // CHECK-NEXT: dsp.keep_order of %r, %s
  // GENERIC: "dsp.keep_order"(%r, %s) : (i32, i32) -> ()
  dsp.keep_order of %r, %s
  // CHECK-NEXT: dsp.keep_order
  // GENERIC: "dsp.keep_order"() : () -> ()
  dsp.keep_order
  // CHECK-NEXT: %near = dsp.opaque %u : memref<?xui8, strided<[1], offset: ?>>
  // GENERIC: %near = "dsp.opaque"(%u) : (memref<?xui8, strided<[1], offset: ?>>) -> memref<?xui8, strided<[1], offset: ?>>
  %near = dsp.opaque %u : memref<?xui8, strided<[1], offset: ?>>
  // CHECK-NEXT: %p = dsp.pack %d, %t halves bt : i32
  %p = dsp.pack %d, %t halves bt : i32
  // CHECK-NEXT: %q = dsp.round %f : f32 -> i32
  %q = dsp.round %f : f32 -> i32
  // CHECK-NEXT: %both = dsp.scale_pair %p, %q by %f, %f : i64
  // GENERIC: %both = "dsp.scale_pair"(%p, %q, %f, %f) : (i32, i32, f32, f32) -> i64
  %both = dsp.scale_pair %p, %q by %f, %f : i64
  // CHECK-NEXT: %bytes = dsp.scale_bytes %p, %q by %f, %f : i32
  // GENERIC: %bytes = "dsp.scale_bytes"(%p, %q, %f, %f) : (i32, i32, f32, f32) -> i32
  %bytes = dsp.scale_bytes %p, %q by %f, %f : i32
  // CHECK-NEXT: %rescaled = dsp.rescale %p by %q exponent 38 left 11 between -128 and 127 : i32
  // GENERIC: %rescaled = "dsp.rescale"(%p, %q) <{exponent = 38 : i64, left = 11 : i64, low = -128 : i64, high = 127 : i64}> : (i32, i32) -> i32
  %rescaled = dsp.rescale %p by %q exponent 38 left 11 between -128 and 127 : i32
  // CHECK-NEXT: %narrow = dsp.ssat %q to 16 : i32
  %narrow = dsp.ssat %q to 16 : i32
  // CHECK-NEXT: %byte = dsp.usat %narrow to 8 : i32
  // GENERIC: %byte = "dsp.usat"(%narrow) <{bits = 8 : i64}> : (i32) -> i32
  %byte = dsp.usat %narrow to 8 : i32
  // CHECK-NEXT: dsp.store_word %p, %m[%i] : i32, memref<64xi8, #npu.sram>
  // GENERIC: "dsp.store_word"(%p, %m, %i) : (i32, memref<64xi8, #npu.sram>, index) -> ()
  dsp.store_word %p, %m[%i] : i32, memref<64xi8, #npu.sram>
  // CHECK-NEXT: dsp.store_word %p, %h[%i] : i32, memref<8xi16>
  // GENERIC: "dsp.store_word"(%p, %h, %i) : (i32, memref<8xi16>, index) -> ()
  dsp.store_word %p, %h[%i] : i32, memref<8xi16>
  // CHECK-NEXT: dsp.copy_words 4 from %m[%i] to %m[%i] : memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>
  // GENERIC: "dsp.copy_words"(%m, %i, %m, %i) <{words = 4 : i64}> : (memref<64xi8, #npu.sram>, index, memref<64xi8, #npu.sram>, index) -> ()
  dsp.copy_words 4 from %m[%i] to %m[%i] : memref<64xi8, #npu.sram>, memref<64xi8, #npu.sram>
  func.return
}
