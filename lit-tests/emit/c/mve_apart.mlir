// RUN: npu-opt %s -t c | filecheck %s

// Words with gaps between them have a step; loads that widen have an offset; floats are chosen by assembly.
// CHECK-LABEL: static inline npu_f32x4 npu_mve_load_f32x4_float_apart_first2(const float *at, int step)
// CHECK:      return vldrwq_gather_shifted_offset_z_f32(at, places, vctp32q(2));
// CHECK:      r.lane[i] = i < 2 ? at[i * step] : 0;
// CHECK-LABEL: static inline npu_i32x4 npu_mve_load_i32x4_int8(const int8_t *at, int offset)
// CHECK:      if (__builtin_constant_p(offset)) {
// CHECK:      r.lane[i] = (int32_t)at[offset + i];
// CHECK-LABEL: static inline npu_f32x4 npu_mve_load_f32x4_float_apart_addressed(const float *at, int step, int offset)
// CHECK:      const uint32x4_t near = vaddq_n_u32(places * 4, (uint32_t)at + 508);
// CHECK:      at += offset;
// CHECK-NEXT: return vldrwq_gather_shifted_offset_f32(at, places);
// CHECK:      r.lane[i] = at[offset + i * step];
// CHECK-LABEL: static inline void npu_mve_store_f32x4_float_apart(float *at, int step, npu_f32x4 x)
// CHECK:      vstrwq_scatter_shifted_offset_f32(at, places, x);
// CHECK-LABEL: void f_apart(
// CHECK:      const npu_f32x4 x = npu_mve_load_f32x4_float_apart_first2(&m[i * 3 + 3], 3);
// CHECK-NEXT: const npu_i32x4 w = npu_mve_load_i32x4_int8(&b[i + 128], 12);
// CHECK-NEXT: const npu_f32x4 z = npu_mve_load_f32x4_float_apart_addressed(&m[i * 3 + 255], 3, 168);
// CHECK-NEXT: const npu_f32x4 y = npu_mve_max_f32x4(npu_mve_fma_scalar_f32x4(x, s, z), npu_mve_to_float_f32x4(npu_mve_mla_scalar_i32x4(w, n, w)));
// CHECK-NEXT: npu_mve_store_f32x4_float_apart(&m[0], 3, y);
func.func private @apart(%m: memref<64xf32, strided<[3]>>, %b: memref<900xi8>, %i: index, %s: f32, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c140 = arith.constant 140 : index
  %j = arith.addi %i, %c1 : index
  %x = mve.load %m[%j] first 2 : memref<64xf32, strided<[3]>> -> vector<4xf32>
  %k = arith.addi %i, %c140 : index
  %w = mve.load %b[%k] : memref<900xi8> -> vector<4xi32>
  %p = mve.mla_scalar %w, %n, %w : vector<4xi32>
  %f = mve.to_float %p : vector<4xi32> -> vector<4xf32>
  %c141 = arith.constant 141 : index
  %l = arith.addi %i, %c141 : index
  %z = mve.load %m[%l] addressed : memref<64xf32, strided<[3]>> -> vector<4xf32>
  %t = mve.fma_scalar %x, %s, %z : vector<4xf32>
  %y = mve.max %t, %f : vector<4xf32>
  mve.store %y, %m[%c0] : vector<4xf32>, memref<64xf32, strided<[3]>>
  func.return
}

func.func @f(%m: memref<64xf32, strided<[3]>>, %b: memref<900xi8>) {
  %c2 = arith.constant 2 : index
  %s = arith.constant 2.5 : f32
  %n = arith.constant 3 : i32
  func.call @apart(%m, %b, %c2, %s, %n) : (memref<64xf32, strided<[3]>>, memref<900xi8>, index, f32, i32) -> ()
  func.return
}
