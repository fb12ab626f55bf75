// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-share-functions{scalars=4})' > "%t.after"
// RUN: npu-opt %s | diff - "%t.after"
// RUN: filecheck %s --input-file "%t.after"

"memref.global"() <{sym_name = "four", sym_visibility = "private", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()
"memref.global"() <{sym_name = "five", sym_visibility = "private", type = memref<5xf32>, initial_value = dense<1.0> : tensor<5xf32>, constant}> : () -> ()

func.func @main(%x: memref<4xf32>, %y: memref<5xf32>) {
  func.call @kinds_1(%x) : (memref<4xf32>) -> ()
  func.call @kinds_2(%y) : (memref<5xf32>) -> ()
  func.call @globals_1(%x) : (memref<4xf32>) -> ()
  func.call @globals_2(%x) : (memref<4xf32>) -> ()
  func.call @attributes_1(%x) : (memref<4xf32>) -> ()
  func.call @attributes_2(%x) : (memref<4xf32>) -> ()
  func.call @operands_1(%x, %x) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @operands_2(%x, %x) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @regions_1(%x) : (memref<4xf32>) -> ()
  func.call @regions_2(%x) : (memref<4xf32>) -> ()
  func.call @bounds_1(%x) : (memref<4xf32>) -> ()
  func.call @bounds_2(%x) : (memref<4xf32>) -> ()
  func.call @casts_1(%x) : (memref<4xf32>) -> ()
  func.call @casts_2(%x) : (memref<4xf32>) -> ()
  func.call @many_1(%x) : (memref<4xf32>) -> ()
  func.call @many_2(%x) : (memref<4xf32>) -> ()
  func.call @results_1(%x) : (memref<4xf32>) -> i32
  func.call @results_2(%x) : (memref<4xf32>) -> i32
  func.call @calls_1(%x) : (memref<4xf32>) -> ()
  func.call @calls_2(%x) : (memref<4xf32>) -> ()
  func.call @blocks_1(%x) : (memref<4xf32>) -> ()
  func.call @blocks_2(%x) : (memref<4xf32>) -> ()
  func.call @named_1(%x) : (memref<4xf32>) -> ()
  func.call @named_2(%x) : (memref<4xf32>) -> ()
  "test.op"() {uses = [@named_1], also = @named_2} : () -> ()
  func.call @declared_1(%x) : (memref<4xf32>) -> ()
  func.call @declared_2(%x) : (memref<4xf32>) -> ()
  func.return
}

// Arguments of other types.
// CHECK-LABEL: func.func private @kinds_2
func.func private @kinds_1(%x: memref<4xf32>) {
  func.return
}
func.func private @kinds_2(%x: memref<5xf32>) {
  func.return
}

// Constants of other types.
// CHECK: func.func private @globals_2
func.func private @globals_1(%x: memref<4xf32>) {
  %w = memref.get_global @four : memref<4xf32>
  "test.op"() : () -> ()
  func.return
}
func.func private @globals_2(%x: memref<4xf32>) {
  %w = memref.get_global @five : memref<5xf32>
  "test.op"() : () -> ()
  func.return
}

// Attributes that may mean something.
// CHECK: func.func private @attributes_2
func.func private @attributes_1(%x: memref<4xf32>) {
  "test.op"(%x) {test.offset = 0 : i64} : (memref<4xf32>) -> ()
  func.return
}
func.func private @attributes_2(%x: memref<4xf32>) {
  "test.op"(%x) {test.offset = 16 : i64} : (memref<4xf32>) -> ()
  func.return
}

// CHECK: func.func private @operands_2
func.func private @operands_1(%x: memref<4xf32>, %y: memref<4xf32>) {
  "test.op"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @operands_2(%x: memref<4xf32>, %y: memref<4xf32>) {
  "test.op"(%y, %x) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// Ops in another region.
// CHECK: func.func private @regions_2
func.func private @regions_1(%x: memref<4xf32>) {
  "test.op"() ({
    "test.termop"() : () -> ()
  }, {
  }) : () -> ()
  func.return
}
func.func private @regions_2(%x: memref<4xf32>) {
  "test.op"() ({
  }, {
    "test.termop"() : () -> ()
  }) : () -> ()
  func.return
}

// Indices, and numbers that become one.
// CHECK: func.func private @bounds_2
// CHECK: func.func private @casts_2
func.func private @bounds_1(%x: memref<4xf32>) {
  %c = arith.constant 1 : index
  "test.op"(%c) : (index) -> ()
  func.return
}
func.func private @bounds_2(%x: memref<4xf32>) {
  %c = arith.constant 2 : index
  "test.op"(%c) : (index) -> ()
  func.return
}
func.func private @casts_1(%x: memref<4xf32>) {
  %c = arith.constant 3 : i32
  %i = arith.index_cast %c : i32 to index
  "test.op"(%i) {casts} : (index) -> ()
  func.return
}
func.func private @casts_2(%x: memref<4xf32>) {
  %c = arith.constant 4 : i32
  %i = arith.index_cast %c : i32 to index
  "test.op"(%i) {casts} : (index) -> ()
  func.return
}

// More numbers than `scalars` that differ.
// CHECK: func.func private @many_2
func.func private @many_1(%x: memref<4xf32>) {
  %a, %b, %c = "test.op"() : () -> (i32, i32, i32)
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  %3 = arith.constant 3 : i32
  %4 = arith.constant 4 : i32
  func.return
}
func.func private @many_2(%x: memref<4xf32>) {
  %a, %b, %c = "test.op"() : () -> (i32, i32, i32)
  %0 = arith.constant 10 : i32
  %1 = arith.constant 11 : i32
  %2 = arith.constant 12 : i32
  %3 = arith.constant 13 : i32
  %4 = arith.constant 14 : i32
  func.return
}

// Results, calls, branches, and other users.
// CHECK: func.func private @results_2
// CHECK: func.func private @calls_2
// CHECK: func.func private @blocks_2
// CHECK: func.func private @named_2
// CHECK: func.func private @declared_2
func.func private @results_1(%x: memref<4xf32>) -> i32 {
  %c = arith.constant 3 : i32
  func.return %c : i32
}
func.func private @results_2(%x: memref<4xf32>) -> i32 {
  %c = arith.constant 3 : i32
  func.return %c : i32
}
func.func private @calls_1(%x: memref<4xf32>) {
  func.call @named_1(%x) : (memref<4xf32>) -> ()
  func.return
}
func.func private @calls_2(%x: memref<4xf32>) {
  func.call @named_1(%x) : (memref<4xf32>) -> ()
  func.return
}
func.func private @blocks_1(%x: memref<4xf32>) {
  "cf.br"() [^bb1] : () -> ()
^bb1:
  func.return
}
func.func private @blocks_2(%x: memref<4xf32>) {
  "cf.br"() [^bb1] : () -> ()
^bb1:
  func.return
}
func.func private @named_1(%x: memref<4xf32>) {
  "test.op"() {named} : () -> ()
  func.return
}
func.func private @named_2(%x: memref<4xf32>) {
  "test.op"() {named} : () -> ()
  func.return
}
func.func private @declared_1(memref<4xf32>) -> ()
func.func private @declared_2(memref<4xf32>) -> ()

// Functions of the same shape that others may call, and one that nothing calls.
// CHECK: func.func @public
// CHECK: func.func private @unused
func.func @public(%x: memref<4xf32>) {
  "test.op"() {public} : () -> ()
  func.return
}
func.func private @unused(%x: memref<4xf32>) {
  "test.op"() {public} : () -> ()
  func.return
}
