// RUN: npu-opt %s -t 'c{prefix="net"}' | filecheck %s

// A pointer and a macro for each arena, in the order of the machine's file. Names that C has for
// other things get a number. Functions of layers get a pointer only for allocations of their own.
// Equal offsets in different memories are different bytes, so a copy is a memcpy.

// CHECK:      * The arenas are the only memory that is written, each aligned to 16:
// CHECK-NEXT: *   `fast`: NET_FAST_BYTES bytes in fast
// CHECK-NEXT: *   `double_2`: NET_DOUBLE_2_BYTES bytes in double, which is behind a data cache
// CHECK-NEXT: * They hold inputs, outputs and everything between them. But for states, their content means
// CHECK:      #define NET_FAST_BYTES 48
// CHECK-NEXT: #define NET_DOUBLE_2_BYTES 32
// CHECK:      /* fast: 4 float, input in double_2 */
// CHECK-NEXT: #define NET_FAST_OFFSET 0
// CHECK:      /* h: 4 float, state in fast */
// CHECK:      void net_reset(void *fast, void *double_2);
// CHECK:      2 if an arena is not
// CHECK:      int net_run(const float *fast_2, void *fast, void *double_2);

// CHECK-LABEL: /* layer
// CHECK-NEXT: *   in: 4 float, double bytes 16 to 31
// CHECK: static void net_layer(const float *in, unsigned char *fast_bytes)
// CHECK: /* 4 float, fast bytes 0 to 15 */
// CHECK-NEXT: float *const own = (float *)(void *)(fast_bytes);

// CHECK-LABEL: int net_run(const float *fast_2, void *fast, void *double_2)
// CHECK-NEXT: {
// CHECK-NEXT: unsigned char *const fast_bytes = (unsigned char *)fast;
// CHECK-NEXT: unsigned char *const double_2_bytes = (unsigned char *)double_2;
// CHECK-NEXT: if (fast_2 == NULL || fast == NULL || double_2 == NULL) {
// CHECK: if ((uintptr_t)fast % 16u != 0u) {
// CHECK: if ((uintptr_t)double_2 % 16u != 0u) {
// CHECK: (double_2_bytes + NET_FAST_OFFSET);
// CHECK: (fast_bytes + NET_H_OFFSET);
// CHECK: float *const map = (float *)(void *)(double_2_bytes + 16);
// CHECK: memcpy(same, fast_2_map, 4 * sizeof(float));
// CHECK: net_layer(map, fast_bytes);

// CHECK-LABEL: void net_reset(void *fast, void *double_2)
// CHECK-NEXT: {
// CHECK-NEXT: unsigned char *const fast_bytes = (unsigned char *)fast;
// CHECK-NEXT: (void)double_2;
// CHECK-NEXT: memset(fast_bytes + NET_H_OFFSET, 0, NET_H_ELEMENTS * sizeof(float));
builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 0 : i64, memory = [
    {name = "fast", bytes = 64 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "double", bytes = 128 : i64, read_bytes_per_cycle = 1 : i64, cached = true}]}>} {
  func.func @f(%x: memref<4xf32, #npu.memory<"double">> {npu.name = "fast", sram.input, sram.offset = 0 : i64},
               %h: memref<4xf32, #npu.memory<"fast">> {npu.name = "h", npu.state = "n", sram.input, sram.output, sram.offset = 32 : i64})
      attributes {sram.arenas = {double = 32 : i64, fast = 48 : i64}} {
    %c0 = arith.constant 0 : index
    %map = sram.alloc at 16 : memref<4xf32, #npu.memory<"double">>
    %same = sram.alloc at 0 : memref<4xf32, #npu.memory<"fast">>
    "memref.copy"(%x, %same) : (memref<4xf32, #npu.memory<"double">>, memref<4xf32, #npu.memory<"fast">>) -> ()
    %v = memref.load %x[%c0] : memref<4xf32, #npu.memory<"double">>
    memref.store %v, %map[%c0] : memref<4xf32, #npu.memory<"double">>
    %w = memref.load %h[%c0] : memref<4xf32, #npu.memory<"fast">>
    memref.store %w, %h[%c0] : memref<4xf32, #npu.memory<"fast">>
    func.call @layer(%map) : (memref<4xf32, #npu.memory<"double">>) -> ()
    func.return
  }
  func.func private @layer(%in: memref<4xf32, #npu.memory<"double">>) {
    %c0 = arith.constant 0 : index
    %own = sram.alloc at 0 : memref<4xf32, #npu.memory<"fast">>
    %v = memref.load %in[%c0] : memref<4xf32, #npu.memory<"double">>
    memref.store %v, %own[%c0] : memref<4xf32, #npu.memory<"fast">>
    func.return
  }
}
