// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-outline-rows | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline=npu-outline-rows,npu-outline-rows | filecheck %s

// Both sides of the choice are functions. What they read is passed, but constants and globals are read again.
// CHECK-LABEL: func.func private @layer
// CHECK: scf.for %oy = %c0 to %c4 step %c1 {
// CHECK-NEXT: %inside = arith.cmpi ult, %oy, %c3 : index
// CHECK-NEXT: scf.if %inside {
// CHECK-NEXT: func.call @layer_rows(%x, %oy) : (memref<4x4xi8>, index) -> ()
// CHECK-NEXT: } else {
// CHECK-NEXT: func.call @layer_border_1(%x, %oy) : (memref<4x4xi8>, index) -> ()
// CHECK-NEXT: }
// CHECK: func.func private @layer_border_1(%x: memref<4x4xi8>, %oy: index) attributes {npu.what = "rows that padding cuts"} {
// CHECK-DAG: %w = memref.get_global @w : memref<4xi8>
// CHECK-DAG: %c0 = arith.constant 0 : index
// CHECK: scf.for %ox = %c0 to %c3
// CHECK: memref.store {{.*}}, %x[%oy, %ox]
// CHECK: func.func private @layer_rows(%x: memref<4x4xi8>, %oy: index) attributes {npu.what = "rows that padding does not cut"} {
// CHECK: scf.for %ox = %c0 to %c4
"memref.global"() <{sym_name = "w", type = memref<4xi8>, initial_value = dense<1> : tensor<4xi8>, sym_visibility = "private", constant}> : () -> ()
func.func private @layer_border()
func.func private @layer(%x: memref<4x4xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %w = memref.get_global @w : memref<4xi8>
  scf.for %oy = %c0 to %c4 step %c1 {
    %inside = arith.cmpi ult, %oy, %c3 : index
    scf.if %inside {
      scf.for %ox = %c0 to %c4 step %c1 {
        %a = memref.load %w[%ox] : memref<4xi8>
        dsp.keep_order
        memref.store %a, %x[%oy, %ox] : memref<4x4xi8>
      }
    } else {
      scf.for %ox = %c0 to %c3 step %c1 {
        %b = memref.load %w[%ox] : memref<4xi8>
        dsp.keep_order
        memref.store %b, %x[%oy, %ox] : memref<4x4xi8>
      }
    }
  }
  func.return
}

// -----

// Left alone: sides without loops, loops that keep no order, vectors, choices outside of loops, and those with results.
// CHECK-LABEL: func.func private @others
// CHECK-NOT: func.call
// CHECK: func.return
func.func private @others(%x: memref<4xi8>, %inside: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %oy = %c0 to %c4 step %c1 {
    scf.if %inside {
      scf.for %ox = %c0 to %c4 step %c1 {
        %a = memref.load %x[%ox] : memref<4xi8>
        dsp.keep_order
        memref.store %a, %x[%oy] : memref<4xi8>
      }
    }
    scf.if %inside {
      scf.for %ox = %c0 to %c4 step %c1 {
        %a = memref.load %x[%ox] : memref<4xi8>
        memref.store %a, %x[%oy] : memref<4xi8>
      }
    } else {
      scf.for %ox = %c0 to %c4 step %c1 {
        %a = memref.load %x[%ox] : memref<4xi8>
        memref.store %a, %x[%oy] : memref<4xi8>
      }
    }
    scf.if %inside {
      scf.for %ox = %c0 to %c4 step %c1 {
        %a = "test.op"() : () -> vector<16xi8>
        dsp.keep_order
      }
    } else {
      scf.for %ox = %c0 to %c4 step %c1 {
        %a = "test.op"() : () -> vector<16xi8>
        dsp.keep_order
      }
    }
  }
  scf.if %inside {
    scf.for %ox = %c0 to %c4 step %c1 {
      dsp.keep_order
    }
  } else {
    scf.for %ox = %c0 to %c4 step %c1 {
      dsp.keep_order
    }
  }
  func.return
}
