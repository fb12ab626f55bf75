// RUN: npu-opt %s -t 'c{prefix="demo"}' | filecheck %s

// How values become expressions: one reader in the same block inlines them, an address is one sum, a value that
// is read twice has a name, and a read stays in front of the writes that follow it.

// CHECK-LABEL: int demo_run(const float *x, float *y, const int32_t *n, void *arena)
// CHECK-NOT: NPU_RESTRICT
// CHECK: (void)arena;
// CHECK-NEXT: for (int i = 1; i < 7; i += 2) {
// CHECK-NEXT:     const float v = x[i * 8 + 11];
// CHECK-NEXT:     const float kept = y[i];
// CHECK-NEXT:     y[i] = v * (v + 1.0f) - v / -0.0f;
// CHECK-NEXT:     const int next = i + 1;
// CHECK-NEXT:     if ((unsigned int)(i - 1) < 4u && !(v <= 2.0f)) {
// CHECK-NEXT:         y[next] = kept > 0.5f ? kept : 0.0f;
// CHECK-NEXT:     } else {
// CHECK-NEXT:         y[next] = (float)n[i];
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func @named_in_another_way(%x: memref<8x8xf32>, %y: memref<64xf32>, %n: memref<8xi32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  scf.for %i = %c1 to %c7 step %c2 {
    %row = arith.addi %i, %c1 : index
    %v = memref.load %x[%row, %c3] : memref<8x8xf32>
    %kept = memref.load %y[%i] : memref<64xf32>
    %more = arith.addf %v, %one : f32
    %product = arith.mulf %v, %more fastmath<contract> : f32
    %quotient = arith.divf %v, %minus : f32
    %difference = arith.subf %product, %quotient fastmath<contract> : f32
    memref.store %difference, %y[%i] : memref<64xf32>
    %shifted = arith.subi %i, %c1 : index
    %inside = arith.cmpi ult, %shifted, %c4 : index
    %large = arith.cmpf ugt, %v, %two : f32
    %both = arith.andi %inside, %large : i1
    %next = arith.addi %i, %c1 : index
    scf.if %both {
      %positive = arith.cmpf ogt, %kept, %half : f32
      %chosen = arith.select %positive, %kept, %zero : f32
      memref.store %chosen, %y[%next] : memref<64xf32>
    } else {
      %k = memref.load %n[%i] : memref<8xi32>
      %f = arith.sitofp %k : i32 to f32
      memref.store %f, %y[%next] : memref<64xf32>
    }
    // Nobody reads this.
    %unused = memref.load %x[%i, %i] : memref<8x8xf32>
  }
  func.return
}
