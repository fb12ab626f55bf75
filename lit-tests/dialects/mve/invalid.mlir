// RUN: NPU_DIAGNOSTICS

func.func @f(%m: memref<8x8xi8>, %i: index) {
  %x = mve.load %m[%i] : memref<8x8xi8> -> vector<16xi8>
  func.return
}
// CHECK: expected one axis with a known distance, got memref<8x8xi8>

// -----

func.func @f(%m: memref<64xi8, strided<[2]>>, %i: index) {
  %x = mve.load %m[%i] : memref<64xi8, strided<[2]>> -> vector<16xi8>
  func.return
}
// CHECK: expected words, or one axis without gaps, got memref<64xi8, strided<[2]>>

// -----

func.func @f(%m: memref<64xf32, strided<[?]>>, %i: index) {
  %x = mve.load %m[%i] : memref<64xf32, strided<[?]>> -> vector<4xf32>
  func.return
}
// CHECK: expected one axis with a known distance, got memref<64xf32, strided<[?]>>

// -----

func.func @f(%m: memref<64xi16, strided<[2]>>, %v: vector<4xi32>, %i: index) {
  mve.store %v, %m[%i] : vector<4xi32>, memref<64xi16, strided<[2]>>
  func.return
}
// CHECK: expected words, or one axis without gaps, got memref<64xi16, strided<[2]>>

// -----

func.func @f(%m: memref<15xi8>, %i: index) {
  %x = mve.load %m[%i] : memref<15xi8> -> vector<16xi8>
  func.return
}
// CHECK: expected at least 16 elements, got memref<15xi8>

// -----

func.func @f(%m: memref<64xf32>, %i: index) {
  %x = mve.load %m[%i] addressed : memref<64xf32> -> vector<4xf32>
  func.return
}
// CHECK: expected all lanes, and gaps between them, for addresses

// -----

func.func @f(%m: memref<64xf32, strided<[2]>>, %i: index) {
  %x = mve.load %m[%i] first 3 addressed : memref<64xf32, strided<[2]>> -> vector<4xf32>
  func.return
}
// CHECK: expected all lanes, and gaps between them, for addresses

// -----

func.func @f(%m: memref<64xi8>, %i: index) {
  %x = mve.load %m[%i] first 5 : memref<64xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected 1 to 4 lanes, got 5

// -----

func.func @f(%m: memref<64xi8>, %i: index) {
  %x = mve.load %m[%i] first 0 : memref<64xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected 1 to 4 lanes, got 0

// -----

func.func @f(%m: memref<64xi16>, %i: index) {
  %x = mve.load %m[%i] : memref<64xi16> -> vector<16xi8>
  func.return
}
// CHECK: expected elements of i8, or narrower integers, in memory, got memref<64xi16>

// -----

func.func @f(%m: memref<64xi32>, %i: index) {
  %x = mve.load %m[%i] : memref<64xi32> -> vector<4xf32>
  func.return
}
// CHECK: expected elements of f32, or narrower integers, in memory, got memref<64xi32>

// -----

func.func @f(%m: memref<64xi8>, %i: index) {
  %x = mve.load %m[%i] : memref<64xi8> -> vector<8xi8>
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16> or vector<4xi32> or vector<4xf32>, got vector<8xi8>

// -----

func.func @f(%v: vector<4xi32>, %m: memref<3xi8>, %i: index) {
  mve.store %v, %m[%i] : vector<4xi32>, memref<3xi8>
  func.return
}
// CHECK: expected at least 4 elements, got memref<3xi8>

// -----

func.func @f(%v: vector<4xf32>, %m: memref<8xi8>, %i: index) {
  mve.store %v, %m[%i] : vector<4xf32>, memref<8xi8>
  func.return
}
// CHECK: expected elements of f32, or narrower integers, in memory, got memref<8xi8>

// -----

func.func @f(%v: vector<4xf32>, %n: i32) {
  %r = mve.mla_across %v, %v, %n : vector<4xf32>
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16> or vector<4xi32>, got vector<4xf32>

// -----

func.func @f(%n: i32) {
  %r = mve.splat %n : i32 -> vector<4xf32>
  func.return
}
// CHECK: expected f32 for vector<4xf32>, got i32

// -----

func.func @f(%s: f32) {
  %r = mve.splat %s : f32 -> vector<16xi8>
  func.return
}
// CHECK: expected i32 for vector<16xi8>, got f32

// -----

func.func @f(%v: vector<4xi32>) {
  %r = mve.maximum %v, %v : vector<4xi32>
  func.return
}
// CHECK: expected vector<4xf32>, got vector<4xi32>

// -----

func.func @f(%v: vector<4xf32>, %n: i32) {
  %r = mve.mla_scalar %v, %n, %v : vector<4xf32>
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16> or vector<4xi32>, got vector<4xf32>

// -----

func.func @f(%v: vector<4xf32>, %n: i32) {
  %r = "mve.fma_scalar"(%v, %n, %v) : (vector<4xf32>, i32, vector<4xf32>) -> vector<4xf32>
  func.return
}
// CHECK: f32

// -----

func.func @f(%v: vector<4xf32>) {
  %r = mve.xor %v, %v : vector<4xf32>
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16> or vector<4xi32>, got vector<4xf32>

// -----

func.func @f(%v: vector<2xi64>) {
  %r = mve.add %v, %v : vector<2xi64>
  func.return
}
// CHECK: got vector<2xi64>

// -----

func.func @f(%v: vector<2xi64>) {
  %r = mve.mul %v, %v : vector<2xi64>
  func.return
}
// CHECK: got vector<2xi64>

// -----

func.func @f(%v: vector<4xf32>, %n: i32) {
  %r = "mve.join"(%n, %n, %n, %n) : (i32, i32, i32, i32) -> vector<4xf32>
  func.return
}
// CHECK: vector<4xi32>

// -----

func.func @f(%v: vector<4xf32>) {
  %r = "mve.to_float"(%v) : (vector<4xf32>) -> vector<4xf32>
  func.return
}
// CHECK: vector<4xi32>

// -----

func.func @f(%v: vector<4xi32>) {
  %r = "mve.round"(%v) : (vector<4xi32>) -> vector<4xi32>
  func.return
}
// CHECK: vector<4xf32>

// -----

func.func @f(%v: vector<4xi32>) {
  %r = "mve.fma"(%v, %v, %v) : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xf32>
  func.return
}
// CHECK: vector<4xf32>

// -----

func.func @f(%v: vector<8xi16>) {
  %r = mve.widen %v : vector<8xi16> -> vector<4xi32>
  func.return
}
// CHECK: expected top or bottom

// -----

func.func @f(%v: vector<16xi8>) {
  %r = mve.mul_long %v, %v : vector<16xi8> -> vector<8xi16>
  func.return
}
// CHECK: expected top or bottom

// -----

func.func @f(%v: vector<8xi16>) {
  %r = mve.mul_long %v, %v top : vector<8xi16> -> vector<8xi16>
  func.return
}
// CHECK: expected vector<4xi32>, got vector<8xi16>

// -----

func.func @f(%v: vector<4xi32>) {
  %r = mve.mul_long %v, %v top : vector<4xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16>, got vector<4xi32>

// -----

func.func @f(%v: vector<4xi32>) {
  %r = "mve.narrow"(%v, %v) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  func.return
}
// CHECK: vector<8xi16>

// -----

func.func @f(%v: vector<4xi32>, %m: memref<64xi8>, %i: index) {
  mve.store %v, %m[%i] saturated : vector<4xi32>, memref<64xi8>
  func.return
}
// CHECK: expected lanes of f32 or i16, and bytes in memory, for saturated, got vector<4xi32> and memref<64xi8>

// -----

func.func @f(%v: vector<4xf32>, %m: memref<64xf32>, %i: index) {
  mve.store %v, %m[%i] saturated : vector<4xf32>, memref<64xf32>
  func.return
}
// CHECK: expected lanes of f32 or i16, and bytes in memory, for saturated

// -----

func.func @f(%v: vector<4xi32>) {
  %r = "mve.low_halves"(%v, %v) : (vector<4xi32>, vector<4xi32>) -> vector<8xi16>
  func.return
}
// CHECK: vector<4xf32>

// -----

func.func @f(%m: memref<64xi16>, %i: index, %v: vector<8xi16>) {
  %r = mve.gather %m[%i] at %v reach 9 : memref<64xi16>
  func.return
}
// CHECK: expected one axis of i8 or ui8 without gaps, got memref<64xi16>

// -----

func.func @f(%m: memref<64xui8>, %i: index, %v: vector<8xi16>) {
  %r = mve.gather %m[%i] at %v reach 9 signed : memref<64xui8>
  func.return
}
// CHECK: expected one axis of i8 without gaps, got memref<64xui8>

// -----

func.func @f(%m: memref<8x8xi8>, %i: index, %v: vector<8xi16>) {
  %r = mve.gather %m[%i] at %v reach 9 : memref<8x8xi8>
  func.return
}
// CHECK: expected one axis of i8 or ui8 without gaps, got memref<8x8xi8>

// -----

func.func @f(%m: memref<64xi8>, %i: index, %v: vector<8xi16>) {
  %r = mve.gather %m[%i] at %v reach 9 step 0 : memref<64xi8>
  func.return
}
// CHECK: expected a step of at least 1, got 0

// -----

func.func @f(%m: memref<64xi8>, %i: index, %v: vector<8xi16>) {
  %r = mve.gather %m[%i] at %v reach 65 : memref<64xi8>
  func.return
}
// CHECK: expected at least 65 elements, got memref<64xi8>

// -----

func.func @f(%m: memref<?xi8>, %i: index, %v: vector<8xi16>) {
  %r = mve.gather %m[%i] at %v reach 65537 : memref<?xi8>
  func.return
}
// CHECK: expected a reach of 1 to 65536, got 65537

// -----

func.func @f(%m: memref<?xi8>, %i: index, %v: vector<16xi8>) {
  %r = mve.gather_bytes %m[%i] at %v reach 257 : memref<?xi8>
  func.return
}
// CHECK: expected a reach of 1 to 256, got 257

// -----

func.func @f(%m: memref<64xi16>, %i: index, %v: vector<16xi8>) {
  %r = mve.gather_bytes %m[%i] at %v reach 9 : memref<64xi16>
  func.return
}
// CHECK: expected one axis of i8 or ui8 without gaps, got memref<64xi16>

// -----

func.func @f(%m: memref<8xi8>, %i: index, %v: vector<16xi8>) {
  %r = mve.gather_bytes %m[%i] at %v reach 9 : memref<8xi8>
  func.return
}
// CHECK: expected at least 9 elements, got memref<8xi8>

// -----

func.func @f(%m: memref<?xi8>, %i: index, %v: vector<16xi8>) {
  mve.scatter_bytes %v, %m[%i] at %v reach 257 : memref<?xi8>
  func.return
}
// CHECK: expected a reach of 1 to 256, got 257

// -----

func.func @f(%m: memref<64xi16>, %i: index, %v: vector<16xi8>) {
  mve.scatter_bytes %v, %m[%i] at %v reach 9 : memref<64xi16>
  func.return
}
// CHECK: expected one axis of i8 or ui8 without gaps, got memref<64xi16>

// -----

func.func @f(%m: memref<64xi8>, %i: index, %v: vector<8xi16>) {
  "mve.scatter_bytes"(%v, %m, %i, %v) <{reach = 9 : i64}> : (vector<8xi16>, memref<64xi8>, index, vector<8xi16>) -> ()
  func.return
}
// CHECK: vector<16xi8>

// -----

func.func @f(%m: memref<64xi8>, %i: index, %v: vector<8xi16>) {
  %r = "mve.gather_bytes"(%m, %i, %v) <{reach = 9 : i64}> : (memref<64xi8>, index, vector<8xi16>) -> vector<16xi8>
  func.return
}
// CHECK: vector<16xi8>

// -----

func.func @f(%m: memref<64xi8>, %i: index, %v: vector<8xi16>) {
  mve.scatter %v, %m[%i] at %v reach 9 lanes 256 : memref<64xi8>
  func.return
}
// CHECK: expected a mask of 1 to 255, got 256

// -----

func.func @f(%m: memref<64xi8>, %i: index, %v: vector<4xi32>) {
  "mve.scatter"(%v, %m, %i, %v) <{reach = 9 : i64}> : (vector<4xi32>, memref<64xi8>, index, vector<4xi32>) -> ()
  func.return
}
// CHECK: vector<8xi16>

// -----

func.func @f(%v: vector<4xf32>) {
  %r = mve.mul_across %v, %v : vector<4xf32>
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16> or vector<4xi32>, got vector<4xf32>

// -----

func.func @f(%v: vector<4xf32>, %n: i32) {
  %r = mve.mul_scalar %v, %n : vector<4xf32>, i32
  func.return
}
// CHECK: expected f32 for vector<4xf32>, got i32

// -----

func.func @f(%v: vector<8xi16>, %s: f32) {
  %r = mve.add_scalar %v, %s : vector<8xi16>, f32
  func.return
}
// CHECK: expected i32 for vector<8xi16>, got f32

// -----

func.func @f(%v: vector<4xf32>, %s: f32) {
  %r = mve.add_saturated %v, %s : vector<4xf32>, f32
  func.return
}
// CHECK: expected vector<16xi8> or vector<8xi16> or vector<4xi32>, got vector<4xf32>

// -----

func.func @f(%v: vector<16xi8>) {
  %r = mve.shift_in %v, %v by 4 : vector<16xi8>
  func.return
}
// CHECK: expected bytes to move by 1 to 3, got 4

// -----

func.func @f(%v: vector<16xi8>) {
  %r = mve.shift_in %v, %v by 0 : vector<16xi8>
  func.return
}
// CHECK: expected bytes to move by 1 to 3, got 0

// -----

func.func @f(%v: vector<16xi8>, %n: i32) {
  %r = mve.set_word %v[4], %n : vector<16xi8>
  func.return
}
// CHECK: expected lane 0 to 3, got 4

// -----

func.func @f(%v: vector<8xi16>, %n: i32) {
  %r = "mve.push_three"(%v, %n) : (vector<8xi16>, i32) -> vector<8xi16>
  func.return
}
// CHECK: vector<16xi8>

// -----

func.func @f(%v: vector<4xi32>) {
  %r = "mve.push_bytes"(%v, %v) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  func.return
}
// CHECK: vector<8xi16>

// -----

func.func @f(%v: vector<8xi16>) {
  %r = "mve.as_bytes"(%v) : (vector<8xi16>) -> vector<8xi16>
  func.return
}
// CHECK: vector<16xi8>

// -----

func.func @f(%v: vector<4xi32>) {
  %r = "mve.move_up"(%v) : (vector<4xi32>) -> vector<4xi32>
  func.return
}
// CHECK: vector<4xf32>

// -----

func.func @f(%m: memref<64xi32>, %i: index, %x: vector<16xi8>) {
  %a, %b = mve.mul_rows %x by %m[%i] rows 4 : memref<64xi32>, vector<16xi8> -> vector<4xi32>, vector<4xi32>
  func.return
}
// CHECK: expected as many vectors for each result

// -----

func.func @f(%m: memref<64xi32>, %i: index, %x: vector<16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 5 : memref<64xi32>, vector<16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected 1 to 4 rows, got 5

// -----

func.func @f(%m: memref<64xi32>, %i: index, %x: vector<16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 3 biased : memref<64xi32>, vector<16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected 4 rows behind first values, got 3

// -----

func.func @f(%m: memref<19xi32>, %i: index, %x: vector<16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 4 biased : memref<19xi32>, vector<16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected at least 20 elements, got memref<19xi32>

// -----

func.func @f(%m: memref<64xi32>, %i: index, %x: vector<16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 4 tail 5 : memref<64xi32>, vector<16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected a tail of 1 to 4 words, got 5

// -----

// The last load reads a whole vector.
func.func @f(%m: memref<12xi32>, %i: index, %x: vector<16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 4 tail 3 : memref<12xi32>, vector<16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected at least 13 elements, got memref<12xi32>

// -----

func.func @f(%m: memref<64xi8>, %i: index, %x: vector<16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 1 : memref<64xi8>, vector<16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected one axis of i32 without gaps, got memref<64xi8>

// -----

func.func @f(%m: memref<?xi32>, %i: index, %x: vector<17x16xi8>) {
  %a = mve.mul_rows %x by %m[%i] rows 1 : memref<?xi32>, vector<17x16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected rows of at most 16 vectors, got 17

// -----

func.func @f(%m: memref<?xi32>, %i: index, %x: vector<16xi8>, %y: vector<2x16xi8>) {
  %a = mve.mul_rows %x, %y by %m[%i] rows 1 : memref<?xi32>, vector<16xi8>, vector<2x16xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected vector<16xi8>, or one pack of them

// -----

func.func @f(%x: vector<16xi8>) {
  %p = mve.pack %x, %x : vector<3x16xi8>
  func.return
}
// CHECK: expected vector<2x16xi8>, got vector<3x16xi8>

// -----

func.func @f(%x: vector<16xi8>, %w: vector<8xi16>) {
  %r = "mve.mul_lanes"(%x, %x, %x, %x, %w) : (vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<8xi16>) -> vector<4xi32>
  func.return
}
// CHECK: operand 'weights' at position 4 does not verify

// -----

func.func @f(%x: vector<4xf32>) {
  %r = mve.as_bytes %x : vector<4xf32> -> vector<16xi8>
  func.return
}
// CHECK: expected vector<8xi16> or vector<4xi32>, got vector<4xf32>

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 272 apart 0 pitch 272 step 272 filters 4 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected run 1 to 256, got 272

// -----

func.func @f(%m: memref<64xi8>, %w: memref<64xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 16 filters 5 : memref<64xi8>, memref<64xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected filters 1 to 4, got 5

// -----

func.func @f(%m: memref<?xi8>, %w: memref<64xi32>, %i: index) {
  %a, %b = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 4096 pitch 16 step 16 filters 4 : memref<?xi8>, memref<64xi32> -> vector<4xi32>, vector<4xi32>
  func.return
}
// CHECK: expected apart 0 to 4095, got 4096

// -----

func.func @f(%m: memref<64xi8>, %w: memref<64xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 15 step 16 filters 4 : memref<64xi8>, memref<64xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected pitch 16 to 4095, got 15

// -----

func.func @f(%m: memref<64xi8>, %w: memref<64xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 15 filters 4 : memref<64xi8>, memref<64xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected step 16 to 139, got 15

// -----

func.func @f(%m: memref<64xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 140 filters 4 : memref<64xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected step 16 to 139, got 140

// -----

func.func @f(%m: memref<64xi8>, %w: memref<64xi32>, %i: index) {
  %a, %b, %c = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 16 filters 4 : memref<64xi8>, memref<64xi32> -> vector<4xi32>, vector<4xi32>, vector<4xi32>
  func.return
}
// CHECK: expected one or two results, got 3

// -----

func.func @f(%m: memref<64xi16>, %w: memref<64xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 16 filters 4 : memref<64xi16>, memref<64xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected one axis of i8 or ui8 without gaps, got memref<64xi16>

// -----

func.func @f(%m: memref<15xi8>, %w: memref<64xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 16 filters 4 : memref<15xi8>, memref<64xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected at least 16 elements, got memref<15xi8>

// -----

func.func @f(%m: memref<31xi8>, %w: memref<64xi32>, %i: index) {
  %a, %b = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 16 pitch 16 step 16 filters 4 : memref<31xi8>, memref<64xi32> -> vector<4xi32>, vector<4xi32>
  func.return
}
// CHECK: expected at least 32 elements, got memref<31xi8>

// -----

func.func @f(%m: memref<64xi8>, %w: memref<15xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 16 filters 4 : memref<64xi8>, memref<15xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected at least 16 elements, got memref<15xi32>

// -----

func.func @f(%m: memref<64xi8>, %w: memref<64xi8>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 16 step 16 filters 4 : memref<64xi8>, memref<64xi8> -> vector<4xi32>
  func.return
}
// CHECK: expected one axis of i32 without gaps, got memref<64xi8>

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a, %b = mve.mul_runs %m[%i] by %w[%i] rows %i run 32 apart 16 pitch 32 step 32 filters 4 lead 4 : memref<?xi8>, memref<?xi32> -> vector<4xi32>, vector<4xi32>
  func.return
}
// CHECK: expected one result, one tap and whole vectors behind a lead of 1 to 15, got 4

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 30 apart 0 pitch 30 step 32 filters 4 lead 4 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected one result, one tap and whole vectors behind a lead of 1 to 15, got 4

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 32 apart 0 pitch 32 step 32 filters 4 lead 16 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected one result, one tap and whole vectors behind a lead of 1 to 15, got 16

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 25 apart 0 pitch 30 step 28 filters 4 tail 2 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected tail 3 to 4, got 2

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 32 apart 0 pitch 32 step 32 filters 4 tail 3 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected tail 4 to 4, got 3

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 24 apart 0 pitch 32 step 28 filters 4 lead 4 tail 3 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected no lead of a run with a tail

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 400 step 272 filters 4 taps 17 across 16 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected taps 1 to 16, got 17

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 49 apart 0 pitch 400 step 320 filters 4 taps 5 across 50 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected run 1 to 48, got 49

// -----

func.func @f(%m: memref<?xi8>, %w: memref<?xi32>, %i: index) {
  %a = mve.mul_runs %m[%i] by %w[%i] rows %i run 16 apart 0 pitch 47 step 48 filters 4 taps 3 across 16 : memref<?xi8>, memref<?xi32> -> vector<4xi32>
  func.return
}
// CHECK: expected pitch 48 to 4095, got 47
