// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// Copies without gaps stay, one with gaps is a loop nest.
// CHECK-LABEL: func.func @gaps(
// CHECK:         "memref.copy"(%x, %plain)
// CHECK-NEXT:    scf.for %i = %c0{{.*}} to %c4{{.*}} step %c1 {
// CHECK-NEXT:      [[V:%.*]] = memref.load %x[{{%c0.*}}, %i] : memref<1x4xi8>
// CHECK-NEXT:      memref.store [[V]], %gaps[{{%c0.*}}, %i] : memref<1x4xi8, strided<[8, 2]>>
func.func @gaps(%x: memref<1x4xi8>) attributes {sram.arena = 32 : i64} {
  %plain = sram.alloc at 0 : memref<1x4xi8, #npu.sram>
  %gaps = sram.alloc at 16 : memref<1x4xi8, strided<[8, 2]>, #npu.sram>
  "memref.copy"(%x, %plain) : (memref<1x4xi8>, memref<1x4xi8, #npu.sram>) -> ()
  "memref.copy"(%x, %gaps) : (memref<1x4xi8>, memref<1x4xi8, strided<[8, 2]>, #npu.sram>) -> ()
  func.return
}

// Buffers that share bytes move element by element: down from the first, up from the last, and not at
// all to their own place.
// CHECK-LABEL: func.func @overlapping(
// CHECK:         scf.for %i =
// CHECK-NEXT:      [[DOWN:%.*]] = memref.load %b[%i] : memref<8xi8>
// CHECK-NEXT:      memref.store [[DOWN]], %a[%i] : memref<8xi8>
// CHECK:         scf.for [[I:%i.*]] =
// CHECK-NEXT:      [[AT:%.*]] = arith.subi %c7{{.*}}, [[I]] : index
// CHECK-NEXT:      [[UP:%.*]] = memref.load %a[[[AT]]] : memref<8xi8>
// CHECK-NEXT:      memref.store [[UP]], %b[[[AT]]] : memref<8xi8>
// CHECK-NEXT:    }
// CHECK-NEXT:    "memref.copy"(%a, %far)
// CHECK-NEXT:    func.return
func.func @overlapping() attributes {sram.arena = 32 : i64} {
  %a = sram.alloc at 0 : memref<8xi8, #npu.sram>
  %same = sram.alloc at 0 : memref<8xi8, #npu.sram>
  %b = sram.alloc at 4 : memref<8xi8, #npu.sram>
  %far = sram.alloc at 16 : memref<8xi8, #npu.sram>
  "memref.copy"(%b, %a) : (memref<8xi8, #npu.sram>, memref<8xi8, #npu.sram>) -> ()
  "memref.copy"(%a, %b) : (memref<8xi8, #npu.sram>, memref<8xi8, #npu.sram>) -> ()
  "memref.copy"(%a, %same) : (memref<8xi8, #npu.sram>, memref<8xi8, #npu.sram>) -> ()
  "memref.copy"(%a, %far) : (memref<8xi8, #npu.sram>, memref<8xi8, #npu.sram>) -> ()
  func.return
}
