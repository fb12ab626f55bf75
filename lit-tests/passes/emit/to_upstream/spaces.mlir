// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// RUN: npu-opt %s -p "npu-to-upstream{sram-space=1 dram-space=2 flash-space=3}" | filecheck %s --check-prefix=NUMBERS
// UPSTREAM: npu-to-upstream
// UPSTREAM: npu-to-upstream{sram-space=1 dram-space=2 flash-space=3}

// Memory spaces disappear, or become numbers. Attributes of ours disappear, wherever they stand.
// Bytes without a sign are signless.

// CHECK-LABEL: builtin.module {
// CHECK:         "memref.global"() <{sym_name = "w", type = memref<4xi8>
// NUMBERS-LABEL: builtin.module {
// NUMBERS:         type = memref<4xi8, 3 : i64>
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 64 : i64, flash_bytes = 64 : i64}>} {
  "memref.global"() <{sym_name = "w", type = memref<4xui8, #npu.flash>, initial_value = dense<[1, 2, 254, 255]> : tensor<4xui8>, sym_visibility = "private", constant}> : () -> ()

  // CHECK-LABEL: func.func @bytes(%x: memref<4xi8>, %y: memref<4xi8>, %i: index) -> i8 {
  // CHECK-NEXT:    %w = memref.get_global @w : memref<4xi8>
  // CHECK-NEXT:    %a = memref.load %w[%i] : memref<4xi8>
  // CHECK-NEXT:    memref.store %a, %y[%i] : memref<4xi8>
  // CHECK-NEXT:    func.return %a : i8
  // NUMBERS-LABEL: func.func @bytes(
  // NUMBERS-SAME:    %x: memref<4xi8, 1 : i64>, %y: memref<4xi8, 2 : i64>
  // NUMBERS-NEXT:    %w = memref.get_global @w : memref<4xi8, 3 : i64>
  func.func @bytes(%x: memref<4xui8, #npu.sram> {npu.name = "x"}, %y: memref<4xi8, #npu.dram>, %i: index)
      -> (i8 {npu.name = "y"}) attributes {npu.what = "text"} {
    %w = memref.get_global @w : memref<4xui8, #npu.flash>
    %a = memref.load %w[%i] {npu.layer = "l"} : memref<4xui8, #npu.flash>
    %b = builtin.unrealized_conversion_cast %a : ui8 to i8
    memref.store %b, %y[%i] : memref<4xi8, #npu.dram>
    func.return %b : i8
  }
}
