// RUN: npu-opt %s -t c | filecheck %s

// Words stand where their ops stand; what a fence separates is not put together.
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<8xi8>, initial_value = dense<3> : tensor<8xi8>, constant}> : () -> ()

// CHECK-LABEL: static inline int32_t npu_dsp_load_word(const void *at)
// CHECK: #define NPU_DSP_ARM 1
// CHECK: static inline int32_t npu_dsp_sxtb16(int32_t x)
// CHECK-NEXT: {
// CHECK-NEXT: #ifdef NPU_DSP_ARM
// CHECK-NEXT:     return (int32_t)__sxtb16(x);
// CHECK-NEXT: #else
// CHECK: static inline int32_t npu_dsp_sxtb16_ror8(int32_t x)
// CHECK: __asm__("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(x));
// CHECK: #define NPU_KEEP_ORDER() __asm__ volatile("" : : : "memory")

// CHECK-LABEL: void f_sum(
// CHECK:       int32_t sum = 0;
// CHECK-NEXT:  for (int i = 0; i < 16; i += 8) {
// CHECK-NEXT:      const int32_t x = npu_dsp_load_word(&m[i]);
// CHECK-NEXT:      const int32_t v = npu_dsp_load_word(&f_w[i + 4]);
// CHECK-NEXT:      sum = npu_dsp_smlad(npu_dsp_sxtb16(x), npu_dsp_sxtb16(v), sum);
// CHECK-NEXT:      const int32_t late = npu_dsp_sxtb16_ror8(x);
// CHECK-NEXT:      const int8_t byte = f_w[i];
// CHECK-NEXT:      const int32_t product = (int32_t)((uint32_t)x * (uint32_t)v); NPU_KEEP_ORDER();
// CHECK-NEXT:      npu_dsp_store_word(&m[i], product);
// CHECK-NEXT:      sum = npu_dsp_smlabt(late, (int32_t)byte, sum);
// CHECK-NEXT:  }
// CHECK-NEXT:  y[0] = sum;
func.func private @sum(%m: memref<24xi8>, %y: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %w = memref.get_global @w : memref<8xi8>
  %sum = scf.for %i = %c0 to %c16 step %c8 iter_args(%t = %zero) -> (i32) {
    %x = dsp.load_word %m[%i] : memref<24xi8> -> i32
    %j = arith.addi %i, %c4 : index
    %v = dsp.load_word %w[%j] : memref<8xi8> -> i32
    %a = dsp.sxtb16 %x rotate 0 : i32
    %b = dsp.sxtb16 %v rotate 0 : i32
    %s = dsp.smlad %a, %b, %t : i32
    %late = dsp.sxtb16 %x rotate 8 : i32
    %byte = memref.load %w[%i] : memref<8xi8>
    %product = arith.muli %x, %v : i32
    dsp.keep_order
    dsp.store_word %product, %m[%i] : i32, memref<24xi8>
    %wide = arith.extsi %byte : i8 to i32
    %r = dsp.smla %late, %wide, %s halves bt : i32
    scf.yield %r : i32
  }
  memref.store %sum, %y[%c0] : memref<4xi32>
  func.return
}

// A loop with a fence is one: nothing waits until after it. Without a fence values wait as ever.
// CHECK-LABEL: void f_around(
// CHECK:       const int32_t q = npu_dsp_round(x[0]);
// CHECK-NEXT:  for (
// CHECK-NEXT:      NPU_KEEP_ORDER();
// CHECK-NEXT:  }
// CHECK-NEXT:  y[0] = q;
func.func private @around(%x: memref<4xf32>, %y: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %f = memref.load %x[%c0] : memref<4xf32>
  %q = dsp.round %f : f32 -> i32
  scf.for %i = %c0 to %c4 step %c4 {
    dsp.keep_order
  }
  memref.store %q, %y[%c0] : memref<4xi32>
  func.return
}

// CHECK-LABEL: int f_run(
func.func @f(%m: memref<24xi8>, %x: memref<4xf32>, %y: memref<4xi32>) {
  func.call @sum(%m, %y) : (memref<24xi8>, memref<4xi32>) -> ()
  func.call @around(%x, %y) : (memref<4xf32>, memref<4xi32>) -> ()
  func.return
}
