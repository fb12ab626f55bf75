// RUN: npu-opt %s -p npu-store-constants | filecheck %s
// RUN: npu-opt %s -p npu-store-constants{together=true} | filecheck %s --check-prefix=BLOCK

// The fast flash has room for @hot, which is read eight times, or for @cold. What reads them goes on
// in #npu.flash, so one function serves constants of both memories. Nobody reads @unread. A file of
// weights lies in one memory as a whole. The wish of an earlier pass is gone.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 1048 : i64, memory = [
    {name = "ram", bytes = 64 : i64, read_bytes_per_cycle = 4 : i64},
    {name = "rom", bytes = 24 : i64, read_bytes_per_cycle = 4 : i64, read_only = true},
    {name = "xip", bytes = 1024 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  func.func @network(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 4 : i64} {
    // CHECK: %cold = memref.get_global @cold : memref<6xf32, #npu.memory<"xip">>{{$}}
    // CHECK-NEXT: %cold_1 = "memref.memory_space_cast"(%cold) : (memref<6xf32, #npu.memory<"xip">>) -> memref<6xf32, #npu.flash>
    // BLOCK: memref.get_global @cold : memref<6xf32, #npu.memory<"xip">>
    %cold = memref.get_global @cold : memref<6xf32, #npu.flash> {npu.stored_in = "rom"}
    // CHECK-NEXT: %hot = memref.get_global @hot : memref<6xf32, #npu.memory<"rom">>
    // CHECK-NEXT: %hot_1 = "memref.memory_space_cast"(%hot) : (memref<6xf32, #npu.memory<"rom">>) -> memref<6xf32, #npu.flash>
    // BLOCK: memref.get_global @hot : memref<6xf32, #npu.memory<"xip">>
    %hot = memref.get_global @hot : memref<6xf32, #npu.flash>
    // CHECK-NEXT: memref.get_global @unread : memref<2xf32, #npu.memory<"xip">>
    // CHECK-NEXT: arith.constant
    %unread = memref.get_global @unread : memref<2xf32, #npu.flash>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      // CHECK: func.call @layer(%hot_1, %y) : (memref<6xf32, #npu.flash>
      func.call @layer(%hot, %y) : (memref<6xf32, #npu.flash>, memref<1xf32, #npu.sram>) -> ()
    }
    // CHECK: func.call @layer(%cold_1, %y) : (memref<6xf32, #npu.flash>
    func.call @layer(%cold, %y) : (memref<6xf32, #npu.flash>, memref<1xf32, #npu.sram>) -> ()
    func.return
  }
  func.func private @layer(%w: memref<6xf32, #npu.flash>, %y: memref<1xf32, #npu.sram>) {
    %c0 = arith.constant 0 : index
    %v = memref.load %w[%c0] : memref<6xf32, #npu.flash>
    memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
    func.return
  }
  // CHECK: sym_name = "hot"{{.*}}memref<6xf32, #npu.memory<"rom">>
  "memref.global"() <{sym_name = "hot", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "cold", type = memref<6xf32, #npu.flash>, initial_value = dense<1.0> : tensor<6xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "unread", type = memref<2xf32, #npu.flash>, initial_value = dense<1.0> : tensor<2xf32>, sym_visibility = "private", constant}> : () -> ()
}
