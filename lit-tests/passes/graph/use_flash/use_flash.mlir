// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-use-flash{prefer=small})' | filecheck %s
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-use-flash)' | filecheck %s --check-prefix=FAST
// RUN: npu-opt %s --split-input-file --pass-pipeline='builtin.module(npu-use-flash{bytes=5000})' | filecheck %s --check-prefix=BYTES

// CHECK-LABEL: builtin.module attributes {npu.flash = "small"} {
// CHECK-NEXT:    func.func @f() {
// FAST-LABEL: builtin.module attributes {npu.flash = "fast"} {
// BYTES-LABEL: builtin.module attributes {npu.flash_bytes = 5000 : i64} {
func.func @f() {
  func.return
}

// -----

// What was said before is replaced; everything else on the module stays.
// CHECK-LABEL: builtin.module attributes {npu.flash = "small", other = 1 : i64} {
// FAST-LABEL: builtin.module attributes {npu.flash = "fast", other = 1 : i64} {
builtin.module attributes {npu.flash = "fast", other = 1 : i64} {
}
