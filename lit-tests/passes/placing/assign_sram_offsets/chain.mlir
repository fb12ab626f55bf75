// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets,npu-assign-sram-offsets)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=ping-pong})' | filecheck %s --check-prefix PINGPONG
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=ping-pong},npu-assign-sram-offsets{strategy=ping-pong})' | filecheck %s --check-prefix PINGPONG
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=none})' | filecheck %s --check-prefix NONE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=none},npu-assign-sram-offsets{strategy=none})' | filecheck %s --check-prefix NONE
// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-assign-sram-offsets{strategy=none alignment=64})' | filecheck %s --check-prefix ALIGNED

// A chain of maps of 1000, 100, 900 and 50 bytes, a relu in place and a view: the largest pair that
// lives together takes 1100 bytes, the two largest maps 1900, all of them 2050. A second run keeps all.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: sram.offset = 0 : i64}, %out: {{.*}}sram.offset = 900 : i64}) attributes {sram.arena = 1100 : i64}
// CHECK: sram.alloc at 1000 :
// CHECK: sram.alloc at 0 :
// PINGPONG-LABEL: func.func @chain
// PINGPONG-SAME: sram.offset = 0 : i64}, %out: {{.*}}sram.offset = 1000 : i64}) attributes {sram.arena = 1900 : i64}
// PINGPONG: sram.alloc at 1000 :
// PINGPONG: sram.alloc at 0 :
// NONE-LABEL: func.func @chain
// NONE-SAME: sram.offset = 0 : i64}, %out: {{.*}}sram.offset = 1000 : i64}) attributes {sram.arena = 2050 : i64}
// NONE: sram.alloc at 1050 :
// NONE: sram.alloc at 1150 :
// ALIGNED-LABEL: func.func @chain
// ALIGNED-SAME: sram.offset = 0 : i64}, %out: {{.*}}sram.offset = 1024 : i64}) attributes {sram.arena = 2116 : i64}
// ALIGNED: sram.alloc at 1088 :
// ALIGNED: sram.alloc at 1216 :
func.func @chain(%in: memref<1000xi8, #npu.sram> {sram.input}, %out: memref<50xi8, #npu.sram> {sram.output}) {
  %a = sram.alloc : memref<100xi8, #npu.sram>
  "test.op"(%in, %a) : (memref<1000xi8, #npu.sram>, memref<100xi8, #npu.sram>) -> ()
  npu.relu ins(%a : memref<100xi8, #npu.sram>) outs(%a : memref<100xi8, #npu.sram>)
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [10, 10], strides: [10, 1] : memref<100xi8, #npu.sram> to memref<10x10xi8, #npu.sram>
  %b = sram.alloc : memref<900xi8, #npu.sram>
  "test.op"(%v, %b) : (memref<10x10xi8, #npu.sram>, memref<900xi8, #npu.sram>) -> ()
  "test.op"(%b, %out) : (memref<900xi8, #npu.sram>, memref<50xi8, #npu.sram>) -> ()
  func.return
}
