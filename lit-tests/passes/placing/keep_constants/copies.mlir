// RUN: npu-opt %s -p npu-keep-constants | filecheck %s

// Behind the 24 bytes of the fast arena there are a word and room for 132 bytes: for @hot, which has
// 96 bytes and is read eight times, and beside it only for @once. So @warm, which is read four times,
// lies in the slow memory, as does @cold. Nobody reads @unread. What a function reads of its argument
// counts for the constant that each call passes. What an earlier pass wished is gone.

builtin.module attributes {npu.target = #npu.target<"board", {flash_bytes = 4096 : i64, memory = [
    {name = "fast", bytes = 160 : i64, read_bytes_per_cycle = 8 : i64},
    {name = "slow", bytes = 160 : i64, read_bytes_per_cycle = 2 : i64},
    {name = "rom", bytes = 4096 : i64, read_bytes_per_cycle = 1 : i64, read_only = true}]}>} {
  // CHECK-LABEL: @network
  // CHECK-SAME: attributes {sram.arenas = {fast = 156 : i64, slow = 140 : i64}, sram.ready = {fast = 24 : i64, slow = 8 : i64}}
  func.func @network(%x: memref<6xf32, #npu.memory<"fast">> {sram.input, sram.offset = 0 : i64},
                     %y: memref<2xf32, #npu.memory<"slow">> {sram.output, sram.offset = 0 : i64})
      attributes {sram.arenas = {fast = 24 : i64, slow = 8 : i64}} {
    // CHECK: memref.get_global @hot : memref<24xf32, #npu.flash> {sram.copy_at = {fast = 28 : i64}}
    %hot = memref.get_global @hot : memref<24xf32, #npu.flash> {sram.kept_in = "slow"}
    // CHECK-NEXT: memref.get_global @warm : memref<16xf32, #npu.flash> {sram.copy_at = {slow = 12 : i64}}
    %warm = memref.get_global @warm : memref<16xf32, #npu.flash>
    // CHECK-NEXT: memref.get_global @cold : memref<16xf32, #npu.flash> {sram.copy_at = {slow = 76 : i64}}
    %cold = memref.get_global @cold : memref<16xf32, #npu.flash>
    // CHECK-NEXT: memref.get_global @once : memref<8xf32, #npu.flash> {sram.copy_at = {fast = 124 : i64}}
    %once = memref.get_global @once : memref<8xf32, #npu.flash>
    // CHECK-NEXT: memref.get_global @unread : memref<2xf32, #npu.flash>{{$}}
    %unread = memref.get_global @unread : memref<2xf32, #npu.flash> {sram.kept_in = "fast"}
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    scf.for %i = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c24 step %c1 {
        %v = memref.load %hot[%k] : memref<24xf32, #npu.flash>
        memref.store %v, %y[%c0] : memref<2xf32, #npu.memory<"slow">>
      }
    }
    scf.for %i = %c0 to %c2 step %c1 {
      func.call @layer(%warm, %y) : (memref<16xf32, #npu.flash>, memref<2xf32, #npu.memory<"slow">>) -> ()
      func.call @layer(%warm, %y) : (memref<16xf32, #npu.flash>, memref<2xf32, #npu.memory<"slow">>) -> ()
    }
    func.call @layer(%cold, %y) : (memref<16xf32, #npu.flash>, memref<2xf32, #npu.memory<"slow">>) -> ()
    scf.for %k = %c0 to %c8 step %c1 {
      %v = memref.load %once[%k] : memref<8xf32, #npu.flash>
      memref.store %v, %y[%c0] : memref<2xf32, #npu.memory<"slow">>
    }
    func.return
  }
  func.func private @layer(%w: memref<16xf32, #npu.flash>, %y: memref<2xf32, #npu.memory<"slow">>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.for %k = %c0 to %c16 step %c1 {
      %v = memref.load %w[%k] : memref<16xf32, #npu.flash>
      memref.store %v, %y[%c0] : memref<2xf32, #npu.memory<"slow">>
    }
    func.return
  }
  "memref.global"() <{sym_name = "hot", type = memref<24xf32, #npu.flash>, initial_value = dense<1.0> : tensor<24xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "warm", type = memref<16xf32, #npu.flash>, initial_value = dense<1.0> : tensor<16xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "cold", type = memref<16xf32, #npu.flash>, initial_value = dense<1.0> : tensor<16xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "once", type = memref<8xf32, #npu.flash>, initial_value = dense<1.0> : tensor<8xf32>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "unread", type = memref<2xf32, #npu.flash>, initial_value = dense<1.0> : tensor<2xf32>, sym_visibility = "private", constant}> : () -> ()
}
