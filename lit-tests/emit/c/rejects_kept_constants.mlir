// RUN: npu-opt %s -t c --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 64 : i64} {
  %c0 = arith.constant 0 : index
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {sram = 32 : i64}}
  %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
  memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: c: the copy at 32 in sram: expected sram.ready to have sram

// -----

func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 64 : i64, sram.ready = {sram = 16 : i64}} {
  %c0 = arith.constant 0 : index
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {sram = 52 : i64}}
  %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
  memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: c: the copy at 52 in sram: expected 16 bytes in the arena, at a multiple of 4

// -----

func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 64 : i64, sram.ready = {sram = 16 : i64}} {
  %c0 = arith.constant 0 : index
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {sram = 30 : i64}}
  %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
  memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: c: the copy at 30 in sram: expected 16 bytes in the arena, at a multiple of 4

// -----

func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 64 : i64, sram.ready = {sram = 18 : i64}} {
  %c0 = arith.constant 0 : index
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {sram = 32 : i64}}
  %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
  memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: c: the copy at 18 in sram: expected 4 bytes in the arena, at a multiple of 4

// -----

func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 64 : i64, sram.ready = {sram = 40 : i64}} {
  %c0 = arith.constant 0 : index
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {sram = 32 : i64}}
  %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
  memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: c: the copies at 32 and 40 in sram overlap

// -----

func.func @f(%y: memref<1xf32, #npu.sram> {sram.output, sram.offset = 0 : i64}) attributes {sram.arena = 64 : i64, sram.ready = {psram = 0 : i64}} {
  %c0 = arith.constant 0 : index
  %w = memref.get_global @w : memref<4xf32, #npu.flash> {sram.copy_at = {psram = 32 : i64}}
  %v = memref.load %w[%c0] : memref<4xf32, #npu.flash>
  memref.store %v, %y[%c0] : memref<1xf32, #npu.sram>
  func.return
}
"memref.global"() <{sym_name = "w", type = memref<4xf32, #npu.flash>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK: c: the copy at 32 in psram: expected 16 bytes in the arena, at a multiple of 4
