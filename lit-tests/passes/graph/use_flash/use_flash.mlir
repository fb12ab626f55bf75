// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-use-flash{prefer=small})' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-use-flash)' | filecheck %s --check-prefix=FAST

// CHECK-LABEL: builtin.module attributes {npu.flash = "small"} {
// CHECK-NEXT:    func.func @f() {
// FAST-LABEL: builtin.module attributes {npu.flash = "fast"} {
func.func @f() {
  func.return
}

// -----

// What was said before is replaced; everything else on the module stays.
// CHECK-LABEL: builtin.module attributes {npu.flash = "small", other = 1 : i64} {
// FAST-LABEL: builtin.module attributes {npu.flash = "fast", other = 1 : i64} {
builtin.module attributes {npu.flash = "fast", other = 1 : i64} {
}
