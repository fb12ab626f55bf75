// RUN: npu-opt %s -t c | filecheck %s

// Vectors stand where their ops stand; a loop carries them, and sums, in variables.

// CHECK-LABEL: typedef struct { int8_t lane[16]; } npu_i8x16;
// CHECK-LABEL: static inline npu_i8x16 npu_mve_load_i8x16_int8_first5(const int8_t *at)
// CHECK-NEXT: {
// CHECK-NEXT: #ifdef NPU_MVE_ARM
// CHECK-NEXT:     return vldrbq_z_s8(at, vctp8q(5));
// CHECK-NEXT: #else
// CHECK: r.lane[i] = i < 5 ? at[i] : 0;

// CHECK-LABEL: void f_sum(
// CHECK:       int32_t sum = 0;
// CHECK-NEXT:  npu_i32x4 best = npu_mve_splat_i32x4(0);
// CHECK-NEXT:  for (int i = 0; i < 32; i += 16) {
// CHECK-NEXT:      const npu_i8x16 x = npu_mve_load_i8x16_int8(&m[i]);
// CHECK-NEXT:      const npu_i8x16 tail = npu_mve_load_i8x16_int8_first5(&m[i + 16]);
// CHECK-NEXT:      sum = npu_mve_mla_across_i8x16(x, tail, sum);
// CHECK-NEXT:      best = npu_mve_max_i32x4(best, npu_mve_join_i32x4(0, 0, 0, 0));
// CHECK-NEXT:  }
// CHECK-NEXT:  (void)sum;
// CHECK-NEXT:  npu_mve_store_i32x4_int8(&m[0], best);
func.func private @sum(%m: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  %first = mve.splat %zero : i32 -> vector<4xi32>
  %sum, %best = scf.for %i = %c0 to %c32 step %c16 iter_args(%s = %zero, %b = %first) -> (i32, vector<4xi32>) {
    %x = mve.load %m[%i] : memref<64xi8> -> vector<16xi8>
    %j = arith.addi %i, %c16 : index
    %tail = mve.load %m[%j] first 5 : memref<64xi8> -> vector<16xi8>
    %t = mve.mla_across %x, %tail, %s : vector<16xi8>
    %four = mve.join %zero, %zero, %zero, %zero : vector<4xi32>
    %c = mve.max %b, %four : vector<4xi32>
    scf.yield %t, %c : i32, vector<4xi32>
  }
  mve.store %best, %m[%c0] : vector<4xi32>, memref<64xi8>
  func.return
}

func.func @f(%m: memref<64xi8>) {
  func.call @sum(%m) : (memref<64xi8>) -> ()
  func.return
}
