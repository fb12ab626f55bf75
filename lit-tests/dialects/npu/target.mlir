// RUN: NPU_ROUNDTRIP

// CHECK-LABEL: builtin.module @machine attributes {npu.target = #npu.target<"fe310", {sram_bytes = 16384 : i64, flash_bytes = 16777216 : i64, alignment = 4 : i64, registers = 0 : i64, features = ["m", "a", "c"]}>}
builtin.module @machine attributes {npu.target = #npu.target<"fe310", {sram_bytes = 16384 : i64, flash_bytes = 16777216 : i64, alignment = 4 : i64, registers = 0 : i64, features = ["m", "a", "c"]}>} {
}

// CHECK-LABEL: builtin.module @least
// CHECK-SAME: #npu.target<"small", {sram_bytes = 1 : i64, flash_bytes = 0 : i64}>
builtin.module @least attributes {npu.target = #npu.target<"small", {sram_bytes = 1 : i64, flash_bytes = 0 : i64}>} {
}
