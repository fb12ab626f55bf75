// RUN: npu-opt %s -p npu-to-upstream | filecheck %s
// UPSTREAM: npu-to-upstream

// CHECK-LABEL: func.func @known(
// CHECK:         %row = memref.subview %map[0, 0, 2, 0] [1, 4, 1, 8] [1, 1, 1, 1]
// CHECK-SAME:      to memref<4x8xi8, strided<[64, 1], offset: 16>>
// CHECK-NEXT:    %line = memref.subview %row[1, 2] [1, 6] [1, 1]
// CHECK-SAME:      to memref<6xi8, strided<[1], offset: 82>>
// CHECK-NEXT:    %span = memref.reinterpret_cast %row to offset: [16], sizes: [200], strides: [1]
// CHECK-SAME:      to memref<200xi8, strided<[1], offset: 16>>
// CHECK-NEXT:    %part = memref.subview %span[3] [5] [1]
// CHECK-SAME:      to memref<5xi8, strided<[1], offset: 19>>
// CHECK-NEXT:    %box = memref.reinterpret_cast %span to offset: [24], sizes: [2, 4], strides: [4, 1]
// CHECK-SAME:      to memref<2x4xi8, strided<[4, 1], offset: 24>>
// CHECK-NEXT:    %again = memref.reinterpret_cast %box to offset: [16], sizes: [8], strides: [1]
// CHECK-SAME:      to memref<8xi8, strided<[1], offset: 16>>
func.func @known(%map: memref<1x4x8x8xi8, #npu.sram>) {
  %row = memref.subview %map[0, 0, 2, 0] [1, 4, 1, 8] [1, 1, 1, 1] : memref<1x4x8x8xi8, #npu.sram> to memref<4x8xi8, strided<[64, 1], offset: ?>, #npu.sram>
  %line = memref.subview %row[1, 2] [1, 6] [1, 1] : memref<4x8xi8, strided<[64, 1], offset: ?>, #npu.sram> to memref<6xi8, strided<[1], offset: ?>, #npu.sram>
  %span = sram.span %row : memref<4x8xi8, strided<[64, 1], offset: ?>, #npu.sram> to memref<200xi8, #npu.sram>
  %part = memref.subview %span[3] [5] [1] : memref<200xi8, #npu.sram> to memref<5xi8, strided<[1], offset: 3>, #npu.sram>
  %box = memref.reinterpret_cast %span to offset: [8], sizes: [2, 4], strides: [4, 1] : memref<200xi8, #npu.sram> to memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>
  %again = memref.reinterpret_cast %box to offset: [0], sizes: [8], strides: [1] : memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram> to memref<8xi8, #npu.sram>
  func.return
}

// An offset that is known only at run time is read from the buffer.
// CHECK-LABEL: func.func @unknown(
// CHECK:         %row = memref.subview %map[0, %y, 0] [4, 1, 8] [1, 1, 1]
// CHECK-SAME:      to memref<4x8xi8, strided<[64, 1], offset: ?>>
// CHECK:         %{{.*}}, [[AT:%offset]], {{.*}} = memref.extract_strided_metadata %row
// CHECK-NEXT:    %span = memref.reinterpret_cast %row to offset: [[[AT]]], sizes: [200], strides: [1]
// CHECK-SAME:      to memref<200xi8, strided<[1], offset: ?>>
// CHECK-NEXT:    [[THERE:%.*]] = arith.addi [[AT]], %c8
// CHECK-NEXT:    %box = memref.reinterpret_cast %span to offset: [[[THERE]]], sizes: [2, 4], strides: [4, 1]
// CHECK-NEXT:    [[LOOSE:%.*]] = "memref.cast"(%fixed)
// CHECK-SAME:      -> memref<2x4xi8, strided<[4, 1], offset: ?>>
// CHECK-NEXT:    func.call @user(%box, [[LOOSE]])
func.func @unknown(%map: memref<4x8x8xi8, #npu.sram>, %fixed: memref<2x4xi8, #npu.sram>, %y: index) {
  %row = memref.subview %map[0, %y, 0] [4, 1, 8] [1, 1, 1] : memref<4x8x8xi8, #npu.sram> to memref<4x8xi8, strided<[64, 1], offset: ?>, #npu.sram>
  %span = sram.span %row : memref<4x8xi8, strided<[64, 1], offset: ?>, #npu.sram> to memref<200xi8, #npu.sram>
  %box = memref.reinterpret_cast %span to offset: [8], sizes: [2, 4], strides: [4, 1] : memref<200xi8, #npu.sram> to memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>
  %cast = "memref.cast"(%fixed) : (memref<2x4xi8, #npu.sram>) -> memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>
  func.call @user(%box, %cast) : (memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>, memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>) -> ()
  func.return
}

func.func private @user(%a: memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>, %b: memref<2x4xi8, strided<[4, 1], offset: ?>, #npu.sram>) {
  func.return
}

// What our types say less exactly is cast where another type is declared.
// CHECK-LABEL: func.func @declared(
// CHECK:         %part = memref.subview %x[3] [4] [1] {{.*}} to memref<4xi8, strided<[1], offset: 3>>
// CHECK-NEXT:    [[LOOSE:%.*]] = "memref.cast"(%part)
// CHECK-NEXT:    func.call @part(%x, [[LOOSE]])
func.func @declared(%x: memref<8xi8, #npu.sram>) {
  %part = memref.subview %x[3] [4] [1] : memref<8xi8, #npu.sram> to memref<4xi8, strided<[1], offset: ?>, #npu.sram>
  func.call @part(%x, %part) : (memref<8xi8, #npu.sram>, memref<4xi8, strided<[1], offset: ?>, #npu.sram>) -> ()
  func.return
}

func.func private @part(%x: memref<8xi8, #npu.sram>, %part: memref<4xi8, strided<[1], offset: ?>, #npu.sram>) {
  func.return
}
