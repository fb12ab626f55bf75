// RUN: npu-opt %s -t 'c{prefix="net"}' | filecheck %s

// CHECK: But for states, its content means
// CHECK: /* h: 4 float, state */
// CHECK-NEXT: #define NET_H_OFFSET 16
// CHECK: /* q: 8 int8_t, state */
// CHECK: Call
// CHECK-NEXT: * net_reset() before the first run, and where a new sequence begins: it sets them to zero.
// CHECK: void net_reset(void *arena);
// CHECK: only states are kept between runs

// CHECK-LABEL: int net_run(const float *x, void *arena)
// CHECK: if (x == NULL || arena == NULL) {
// CHECK: h_map[i] = x_map[i];
// CHECK-LABEL: void net_reset(void *arena)
// CHECK-NEXT: {
// CHECK-NEXT: unsigned char *const bytes = (unsigned char *)arena;
// CHECK-NEXT: memset(bytes + NET_H_OFFSET, 0, NET_H_ELEMENTS * sizeof(float));
// CHECK-NEXT: memset(bytes + NET_Q_OFFSET, -5, NET_Q_ELEMENTS * sizeof(int8_t));
func.func @f(%x: memref<4xf32, #npu.sram> {npu.name = "x", sram.input, sram.offset = 0 : i64},
             %h: memref<4xf32, #npu.sram> {npu.name = "h", npu.state = "n", sram.input, sram.output, sram.offset = 16 : i64},
             %q: memref<8xi8, #npu.sram> {npu.name = "q", npu.state = "p", npu.zero_point = -5 : i64, sram.input, sram.output, sram.offset = 32 : i64})
    attributes {sram.arena = 40 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32, #npu.sram>
    memref.store %v, %h[%i] : memref<4xf32, #npu.sram>
  }
  func.return
}
