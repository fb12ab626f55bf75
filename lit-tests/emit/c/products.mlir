// RUN: npu-opt %s -t 'c{prefix="demo"}' | filecheck %s

// A product that something adds is rounded before, unless both ops say that it need not be.

// CHECK-LABEL: static inline float npu_rounded_float(float product)
// CHECK:       __asm__("" : "+x"(product));
// CHECK-LABEL: int demo_run(
// CHECK:       y[0] = npu_rounded_float(p * q) + r;
// CHECK-NEXT:  y[1] = npu_rounded_float(p * q) - r;
// CHECK-NEXT:  y[2] = npu_rounded_float(p * q) + r;
// CHECK-NEXT:  y[3] = p * q + r;
// CHECK-NEXT:  y[4] = p * q / r;
func.func @demo(%x: memref<3xf32>, %y: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %p = memref.load %x[%c0] : memref<3xf32>
  %q = memref.load %x[%c1] : memref<3xf32>
  %r = memref.load %x[%c2] : memref<3xf32>
  %0 = arith.mulf %p, %q : f32
  %1 = arith.addf %0, %r : f32
  memref.store %1, %y[%c0] : memref<5xf32>
  %2 = arith.mulf %p, %q fastmath<contract> : f32
  %3 = arith.subf %2, %r : f32
  memref.store %3, %y[%c1] : memref<5xf32>
  %4 = arith.mulf %p, %q : f32
  %5 = arith.addf %4, %r fastmath<contract> : f32
  memref.store %5, %y[%c2] : memref<5xf32>
  %6 = arith.mulf %p, %q fastmath<contract> : f32
  %7 = arith.addf %6, %r fastmath<contract> : f32
  memref.store %7, %y[%c3] : memref<5xf32>
  %8 = arith.mulf %p, %q : f32
  %9 = arith.divf %8, %r : f32
  memref.store %9, %y[%c4] : memref<5xf32>
  func.return
}
