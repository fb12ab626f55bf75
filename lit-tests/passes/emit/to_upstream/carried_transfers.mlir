// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// RUN: npu-opt %s --verify-diagnostics -p "npu-to-upstream{transfers=memref sram-space=1}" | filecheck %s --check-prefix=MEMREF
// UPSTREAM: npu-to-upstream

// A loop carries the number that the function has returned. Upstream's own transfers have none.
// CHECK: [[T:%.*]] = func.call @npu_transfer_read_1d_f32
// CHECK: [[LAST:%.*]] = scf.for {{.*}} iter_args([[U:%.*]] = [[T]]) -> (i32) {
// CHECK: [[V:%.*]] = func.call @npu_transfer_read_1d_f32
// CHECK-NEXT: func.call @npu_transfer_wait([[U]]) : (i32) -> ()
// CHECK-NEXT: scf.yield [[V]] : i32
// CHECK: func.call @npu_transfer_wait([[LAST]]) : (i32) -> ()
// MEMREF: npu-to-upstream: memref.dma_start has no token that a loop can carry; expected transfers=calls, or npu-double-buffer{ahead=1} before
func.func @net(%x: memref<4xf32, #npu.dram> {dram.input}, %y: memref<4xf32, #npu.sram>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %t = dma.start %x to %y channel 0 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
  %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %t) -> (!dma.token) {
    %v = dma.start %x to %y channel 1 : memref<4xf32, #npu.dram> to memref<4xf32, #npu.sram>
    dma.wait %u
    scf.yield %v : !dma.token
  }
  dma.wait %last
  func.return
}
