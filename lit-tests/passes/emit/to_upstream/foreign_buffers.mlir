// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// Allocations of others that have an offset are views, too, and are not freed; the arena is in their
// space. Ops and attributes of others stay.

// CHECK-LABEL: func.func private @sense(memref<16xi16, "L1">) -> ()
func.func @sense(memref<16xi16, "L1">) -> ()

// CHECK-LABEL: func.func @filter(
// CHECK-SAME:    %x: memref<16xi16>, %arena: memref<64xi8, "L1">) attributes {other.kept = 1 : i64} {
// CHECK:         %raw = memref.view %arena[%c0{{.*}}][] : memref<64xi8, "L1"> to memref<16xi16, "L1">
// CHECK-NEXT:    %heap = memref.alloc() {{.*}}: memref<16xi16>
// CHECK-NEXT:    linalg.fill {other.kept} ins(%zero : i16) outs(%raw : memref<16xi16, "L1">)
// CHECK-NEXT:    func.call @sense(%raw)
// CHECK-NEXT:    memref.dealloc %heap
// CHECK-NEXT:    func.return
func.func @filter(%x: memref<16xi16>) attributes {sram.arena = 64 : i64, other.kept = 1 : i64} {
  %zero = arith.constant 0 : i16
  %raw = memref.alloc() {sram.offset = 0 : i64} : memref<16xi16, "L1">
  %heap = memref.alloc() : memref<16xi16>
  linalg.fill {other.kept, npu.layer = "s"} ins(%zero : i16) outs(%raw : memref<16xi16, "L1">)
  func.call @sense(%raw) : (memref<16xi16, "L1">) -> ()
  memref.dealloc %raw : memref<16xi16, "L1">
  memref.dealloc %heap : memref<16xi16>
  func.return
}
