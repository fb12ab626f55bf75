// RUN: npu-opt %s -t c | filecheck %s

// Row and column of an element are computed from its number, and the address is that number. What
// only the row needs is not computed; the inner loop reads a row of its own.

// CHECK-LABEL: f_run(
// CHECK: for (int i = 0; i < 32; ++i) {
// CHECK-NEXT: const int next = i + 1;
// CHECK-NEXT: y[i] = x[next];
// CHECK-NEXT: for (int j = 0; j < 2; ++j) {
// CHECK-NEXT: const int row2 = npu_floor_div_int(j + next, 8);
// CHECK-NEXT: y[j] = x[row2 + row2 / 2];
// CHECK-NEXT: }
func.func @f(%x: memref<5x8xf32>, %y: memref<40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    %next = arith.addi %i, %c1 : index
    %row = arith.floordivsi %next, %c8 : index
    %whole = arith.muli %row, %c8 : index
    %column = arith.subi %next, %whole : index
    %v = memref.load %x[%row, %column] : memref<5x8xf32>
    memref.store %v, %y[%i] : memref<40xf32>
    scf.for %j = %c0 to %c2 step %c1 {
      %at = arith.addi %j, %next : index
      %row2 = arith.floordivsi %at, %c8 : index
      %half = arith.divsi %row2, %c2 : index
      %both = arith.addi %row2, %half : index
      %w = memref.load %x[%c0, %both] : memref<5x8xf32>
      memref.store %w, %y[%j] : memref<40xf32>
    }
  }
  func.return
}
