// RUN: npu-opt %s -t 'c{prefix="net"}' | filecheck %s
// RUN: npu-opt %s -t 'c{prefix="net" weights=bin}' | filecheck %s --check-prefix=FILE

// Constants in several read-only memories: a macro for the section of each memory in use. The
// function of a layer reads them where they lie. A file of weights has no sections.

// FILE-NOT: _SECTION
// CHECK:      #ifndef NET_XIP_SECTION
// CHECK-NEXT: #define NET_XIP_SECTION
// CHECK-NEXT: #endif
// CHECK:      #ifndef NET_ROM_SECTION
// CHECK-NOT:  NET_WEIGHTS_SECTION
// CHECK:      static const float net_a[2] NET_XIP_SECTION = {
// CHECK:      static const float net_b[2] NET_ROM_SECTION = {
// CHECK:      y_map[0] = net_a[0];
// CHECK:      net_layer(net_b, y_map);
builtin.module {
  "memref.global"() <{sym_name = "a", type = memref<2xf32, #npu.memory<"xip">>, initial_value = dense<[1.0, 2.0]> : tensor<2xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "b", type = memref<2xf32, #npu.memory<"rom">>, initial_value = dense<[3.0, 4.0]> : tensor<2xf32>, sym_visibility = "private", constant}> : () -> ()
  func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    %a = memref.get_global @a : memref<2xf32, #npu.memory<"xip">>
    %a_1 = "memref.memory_space_cast"(%a) : (memref<2xf32, #npu.memory<"xip">>) -> memref<2xf32, #npu.flash>
    %b = memref.get_global @b : memref<2xf32, #npu.memory<"rom">>
    %b_1 = "memref.memory_space_cast"(%b) : (memref<2xf32, #npu.memory<"rom">>) -> memref<2xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %v = memref.load %a_1[%c0] : memref<2xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.call @layer(%b_1, %y) : (memref<2xf32, #npu.flash>, memref<1xf32, #npu.sram>) -> ()
    func.return
  }
  func.func private @layer(%w: memref<2xf32, #npu.flash>, %y: memref<1xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<2xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
}
