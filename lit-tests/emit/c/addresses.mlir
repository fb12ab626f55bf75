// RUN: npu-opt %s -t c | filecheck %s

// An address is one sum in which each variable stands once.

// CHECK-LABEL: f_run(
// CHECK: y[i * 4 + 5] = x[i];
func.func @f(%x: memref<4xf32>, %y: memref<40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    %three = arith.muli %i, %c3 : index
    %four = arith.addi %three, %i : index
    %at = arith.addi %four, %c5 : index
    memref.store %v, %y[%at] : memref<40xf32>
  }
  func.return
}
