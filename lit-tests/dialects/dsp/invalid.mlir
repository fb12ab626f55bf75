// RUN: NPU_DIAGNOSTICS

func.func @f(%m: memref<8x8xi8>, %i: index) {
  %x = dsp.load_word %m[%i] : memref<8x8xi8> -> i32
  func.return
}
// CHECK: expected one axis without gaps, got memref<8x8xi8>

// -----

func.func @f(%m: memref<8xi8, strided<[2]>>, %i: index) {
  %x = dsp.load_word %m[%i] : memref<8xi8, strided<[2]>> -> i32
  func.return
}
// CHECK: expected one axis without gaps, got memref<8xi8, strided<[2]>>

// -----

func.func @f(%m: memref<8xi32>, %i: index) {
  %x = dsp.load_word %m[%i] : memref<8xi32> -> i32
  func.return
}
// CHECK: expected integers of 8 bits or 16 bits in memory, got memref<8xi32>

// -----

func.func @f(%m: memref<1xi16>, %i: index) {
  %x = dsp.load_word %m[%i] : memref<1xi16> -> i32
  func.return
}
// CHECK: expected at least 2 elements, got memref<1xi16>

// -----

func.func @f(%m: memref<8xi16>, %i: index) {
  %x, %y = dsp.load_pair %m[%i] : memref<8xi16> -> i32, i32
  func.return
}
// CHECK: expected integers of 32 bits in memory, got memref<8xi16>

// -----

func.func @f(%m: memref<1xi32>, %i: index) {
  %x, %y = dsp.load_pair %m[%i] : memref<1xi32> -> i32, i32
  func.return
}
// CHECK: expected at least 2 elements, got memref<1xi32>

// -----

func.func @f(%m: memref<8xi32, strided<[2]>>, %i: index) {
  %x, %y = dsp.load_pair %m[%i] : memref<8xi32, strided<[2]>> -> i32, i32
  func.return
}
// CHECK: expected one axis without gaps, got memref<8xi32, strided<[2]>>

// -----

func.func @f(%m: memref<8xi32>, %i: index) {
  %x, %y = dsp.load_floats %m[%i] to 0 : memref<8xi32> -> f32, f32
  func.return
}
// CHECK: expected floats in memory, got memref<8xi32>

// -----

func.func @f(%m: memref<1xf32>, %i: index) {
  %x, %y = dsp.load_floats %m[%i] to 0 : memref<1xf32> -> f32, f32
  func.return
}
// CHECK: expected at least 2 elements, got memref<1xf32>

// -----

func.func @f(%m: memref<8xf32>, %i: index) {
  %x, %y = dsp.load_floats %m[%i] to 31 : memref<8xf32> -> f32, f32
  func.return
}
// CHECK: expected registers from s0 to s31, got 2 from s31 on

// -----

func.func @f(%m: memref<8xf32>, %i: index) {
  %x = dsp.load_floats %m[%i] to 0 : memref<8xf32> -> f32
  func.return
}
// CHECK: expected 2 to 16 floats, got 1

// -----

func.func @f(%m: memref<8xf32>, %i: index, %x: f32) {
  dsp.store_floats %x, %x from 31 to %m[%i] : f32, f32 to memref<8xf32>
  func.return
}
// CHECK: expected registers from s0 to s31, got 2 from s31 on

// -----

func.func @f(%m: memref<1xf32>, %i: index, %x: f32) {
  dsp.store_floats %x, %x from 4 to %m[%i] : f32, f32 to memref<1xf32>
  func.return
}
// CHECK: expected at least 2 elements, got memref<1xf32>

// -----

func.func @f(%m: memref<8xi32>, %i: index, %x: i32) {
  dsp.store_word %x, %m[%i] : i32, memref<8xi32>
  func.return
}
// CHECK: expected integers of 8 bits or 16 bits in memory, got memref<8xi32>

// -----

func.func @f(%m: memref<3xi8>, %i: index, %x: i32) {
  dsp.store_word %x, %m[%i] : i32, memref<3xi8>
  func.return
}
// CHECK: expected at least 4 elements, got memref<3xi8>

// -----

func.func @f(%x: i32) {
  %y = dsp.sxtb16 %x rotate 16 : i32
  func.return
}
// CHECK: expected a rotation by 0 or 8, got 16

// -----

func.func @f(%x: i32) {
  %y = dsp.uxtab16 %x, %x rotate 4 : i32
  func.return
}
// CHECK: expected a rotation by 0 or 8, got 4

// -----

func.func @f(%x: i32) {
  %y = dsp.smla %x, %x, %x halves b : i32
  func.return
}
// CHECK: Expected `bb`, `bt`, `tb`, or `tt`.

// -----

func.func @f(%x: i32) {
  %y = dsp.pack %x, %x halves top : i32
  func.return
}
// CHECK: Expected `bb`, `bt`, `tb`, or `tt`.

// -----

func.func @f(%x: i64) {
  %y = dsp.smlad %x, %x, %x : i64
  func.return
}
// CHECK: Expected attribute i32 but got i64

// -----

func.func @bits(%x: i32) {
  %y = dsp.ssat %x to 7 : i32
  func.return
}
// CHECK: expected 8 or 16 bits, got 7

// -----

func.func @copies(%m: memref<96xi8>, %n: memref<96xi16>, %d: memref<8xf64>, %a: memref<96xi8, strided<[2]>>, %s: memref<15xi8>, %i: index) {
  dsp.copy_words 17 from %m[%i] to %m[%i] : memref<96xi8>, memref<96xi8>
  func.return
}
// CHECK: expected 1 to 16 words, got 17

// -----

func.func @copies(%m: memref<96xi8>, %n: memref<96xi16>, %d: memref<8xf64>, %a: memref<96xi8, strided<[2]>>, %s: memref<15xi8>, %i: index) {
  dsp.copy_words 4 from %m[%i] to %n[%i] : memref<96xi8>, memref<96xi16>
  func.return
}
// CHECK: expected elements of one type, got memref<96xi8> and memref<96xi16>

// -----

func.func @copies(%m: memref<96xi8>, %n: memref<96xi16>, %d: memref<8xf64>, %a: memref<96xi8, strided<[2]>>, %s: memref<15xi8>, %i: index) {
  dsp.copy_words 4 from %d[%i] to %d[%i] : memref<8xf64>, memref<8xf64>
  func.return
}
// CHECK: expected elements of at most a word, got memref<8xf64>

// -----

func.func @copies(%m: memref<96xi8>, %n: memref<96xi16>, %d: memref<8xf64>, %a: memref<96xi8, strided<[2]>>, %s: memref<15xi8>, %i: index) {
  dsp.copy_words 4 from %a[%i] to %m[%i] : memref<96xi8, strided<[2]>>, memref<96xi8>
  func.return
}
// CHECK: expected one axis without gaps, got memref<96xi8, strided<[2]>>

// -----

func.func @copies(%m: memref<96xi8>, %n: memref<96xi16>, %d: memref<8xf64>, %a: memref<96xi8, strided<[2]>>, %s: memref<15xi8>, %i: index) {
  dsp.copy_words 4 from %m[%i] to %s[%i] : memref<96xi8>, memref<15xi8>
  func.return
}
// CHECK: expected at least 16 elements, got memref<15xi8>

// -----

func.func @opaque(%i: index) {
  %j = "dsp.opaque"(%i) : (index) -> index
  func.return
}
// CHECK: index should be of base attribute memref

// -----

func.func @opaque(%m: memref<96xi8>) {
  %n = "dsp.opaque"(%m) : (memref<96xi8>) -> memref<95xi8>
  func.return
}
// CHECK: memref<96xi8>

// -----

func.func @f(%x: i32) {
  %q = dsp.rescale %x by %x exponent 38 left 31 between 0 and 255 : i32
  func.return
}
// CHECK: expected left from 0 to 30, got 31

// -----

func.func @f(%x: i32) {
  %q = dsp.rescale %x by %x exponent 38 left -1 between 0 and 255 : i32
  func.return
}
// CHECK: expected left from 0 to 30, got -1

// -----

func.func @f(%x: i32) {
  %q = dsp.rescale %x by %x exponent 21 left 11 between 0 and 255 : i32
  func.return
}
// CHECK: expected an exponent of at most 126, 1 to 20 more than 32 less left, got 21 with left 11

// -----

func.func @f(%x: i32) {
  %q = dsp.rescale %x by %x exponent 42 left 11 between 0 and 255 : i32
  func.return
}
// CHECK: expected an exponent of at most 126, 1 to 20 more than 32 less left, got 42 with left 11

// -----

func.func @f(%x: i32) {
  %q = dsp.rescale %x by %x exponent 38 left 11 between 3 and 2 : i32
  func.return
}
// CHECK: expected bounds in order, from -32768 to 32768, got 3 and 2

// -----

func.func @f(%x: i32) {
  %q = dsp.rescale %x by %x exponent 38 left 11 between -32769 and 0 : i32
  func.return
}
// CHECK: expected bounds in order, from -32768 to 32768, got -32769 and 0

// -----

func.func @f(%x: i32) {
  dsp.keep_order of %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x
  func.return
}
// CHECK: expected at most 16 sums, got 17
