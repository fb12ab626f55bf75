// RUN: npu-opt %s -t 'c{prefix="net"}' | filecheck %s
// RUN: npu-opt %s -t 'c{prefix="net" weights=bin}' | filecheck %s --check-prefix=BIN

// NET_init copies the constants and then writes the word; NET_run looks for it. A layer gets the
// arena of a copy that it reads; its pointers are still `restrict`, as nobody writes a copy. A
// constant that is only read from its copy needs no pointer to a file of weights.

// CHECK:      * They hold inputs, outputs and everything between them. But for copies of constants, their content means
// CHECK:      #define NET_FAST_BYTES 64
// CHECK:      * Constants that are read often are read from copies in the arenas. Call net_init() once
// CHECK:      int net_init(void *fast, void *slow);
// CHECK:      only copies of constants are kept between runs
// CHECK:      int net_run(float *y, void *fast, void *slow);

// CHECK:      static const float net_hot[4]
// CHECK:      static const float net_cold[4]
// CHECK-LABEL: static void net_layer(float *NPU_RESTRICT out, unsigned char *fast_bytes)
// CHECK:      /* the copy of hot: 4 float, fast */
// CHECK-NEXT: const float *const w = (const float *)(const void *)(fast_bytes + 32);

// CHECK-LABEL: int net_run(float *y, void *fast, void *slow)
// CHECK:      if ((uintptr_t)slow % 16u != 0u) {
// CHECK-NEXT: return 2;
// CHECK-NEXT: }
// CHECK-NEXT: if (*(const uint32_t *)(const void *)((const unsigned char *)fast + 16) != 0x{{[0-9a-f]+}}u) {
// CHECK-NEXT: return 3;
// CHECK-NEXT: }
// CHECK:      net_cold[0]

// CHECK-LABEL: int net_init(void *fast, void *slow)
// CHECK-NEXT: {
// CHECK-NEXT: (void)slow;
// CHECK-NEXT: unsigned char *const fast_bytes = (unsigned char *)fast;
// CHECK-NEXT: if (fast == NULL) {
// CHECK-NEXT: return 1;
// CHECK-NEXT: }
// CHECK-NEXT: if ((uintptr_t)fast % 16u != 0u) {
// CHECK-NEXT: return 2;
// CHECK-NEXT: }
// CHECK-NEXT: memcpy(fast_bytes + 32, net_hot, 16);
// CHECK-NEXT: *(uint32_t *)(void *)(fast_bytes + 16) = 0x{{[0-9a-f]+}}u;
// CHECK-NEXT: return 0;

// BIN: int net_init(void *fast, void *slow, const void *weights);
// BIN: static void net_layer(float *NPU_RESTRICT out, unsigned char *fast_bytes)
// BIN: memcpy(fast_bytes + 32, (const unsigned char *)weights + NET_HOT_BYTE, 16);
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64}]}>} {
  func.func @f(%y: memref<4xf32, #npu.memory<"slow">> {npu.name = "y", sram.output, sram.offset = 0 : i64})
      attributes {sram.arenas = {fast = 64 : i64, slow = 16 : i64}, sram.ready = {fast = 16 : i64}} {
    %c0 = arith.constant 0 : index
    %cold = memref.get_global @cold : memref<4xf32, #npu.flash>
    %v = memref.load %cold[%c0] : memref<4xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<4xf32, #npu.memory<"slow">>
    func.call @layer(%y) : (memref<4xf32, #npu.memory<"slow">>) -> ()
    func.return
  }
  func.func private @layer(%out: memref<4xf32, #npu.memory<"slow">>) {
    %c0 = arith.constant 0 : index
    %w = memref.get_global @hot : memref<4xf32, #npu.flash> {sram.copy_at = {fast = 32 : i64}}
    %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
    memref.store %v, %out[%c0] : memref<4xf32, #npu.memory<"slow">>
    func.return
  }
  "memref.global"() <{sym_name = "hot", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "cold", type = memref<4xf32, #npu.flash>, initial_value = dense<2.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
}
