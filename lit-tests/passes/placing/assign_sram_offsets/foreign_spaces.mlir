// RUN: npu-opt %s --allow-unregistered-dialect -p 'npu-assign-sram-offsets{space=1}' | filecheck %s
// RUN: npu-opt %s --allow-unregistered-dialect -p 'npu-assign-sram-offsets{space="L1"}' | filecheck %s --check-prefix NAMED
// RUN: npu-opt %s --allow-unregistered-dialect -p 'npu-assign-sram-offsets{space="\"L1\""}' | filecheck %s --check-prefix NAMED

// The on-chip space of another compiler is a number or a name. Nobody needs to know its ops.

// CHECK-LABEL: func.func @numbered() attributes {sram.arena = 24 : i64}
// CHECK: memref.alloc() {sram.offset = 0 : i64} : memref<4xf32, 1 : i64>
// CHECK: memref.alloc() {sram.offset = 16 : i64} : memref<2xf32, 1 : i64>
// NAMED-LABEL: func.func @numbered() {
func.func @numbered() {
  %a = memref.alloc() : memref<4xf32, 1 : i64>
  %b = memref.alloc() : memref<2xf32, 1 : i64>
  "other.op"(%a, %b) : (memref<4xf32, 1 : i64>, memref<2xf32, 1 : i64>) -> ()
  func.return
}

// CHECK-LABEL: func.func @named() {
// NAMED-LABEL: func.func @named() attributes {sram.arena = 16 : i64}
// NAMED: memref.alloc() {sram.offset = 0 : i64} : memref<4xf32, "L1">
func.func @named() {
  %a = memref.alloc() : memref<4xf32, "L1">
  "other.op"(%a) : (memref<4xf32, "L1">) -> ()
  func.return
}

// A transfer goes on until somebody waits for it, so both buffers live until then. They do not share memory with %c.
// CHECK-LABEL: func.func @transfer
// CHECK-SAME: sram.arena = 512 : i64
func.func @transfer(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %a = memref.alloc() : memref<64xf32, 1 : i64>
  %tag = memref.alloc() : memref<1xi32>
  "memref.dma_start"(%x, %c0, %a, %c0, %n, %tag, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<64xf32>, index, memref<64xf32, 1 : i64>, index, index, memref<1xi32>, index) -> ()
  %c = memref.alloc() : memref<64xf32, 1 : i64>
  "other.op"(%c) : (memref<64xf32, 1 : i64>) -> ()
  "memref.dma_wait"(%tag, %c0, %n) : (memref<1xi32>, index, index) -> ()
  func.return
}

// Nobody waits: %a is in use up to the end.
// CHECK-LABEL: func.func @no_wait
// CHECK-SAME: sram.arena = 512 : i64
func.func @no_wait(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %a = memref.alloc() : memref<64xf32, 1 : i64>
  %tag = memref.alloc() : memref<1xi32>
  "memref.dma_start"(%x, %c0, %a, %c0, %n, %tag, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>} : (memref<64xf32>, index, memref<64xf32, 1 : i64>, index, index, memref<1xi32>, index) -> ()
  %c = memref.alloc() : memref<64xf32, 1 : i64>
  "other.op"(%c) : (memref<64xf32, 1 : i64>) -> ()
  func.return
}
