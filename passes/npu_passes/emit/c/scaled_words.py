"""Bodies of C functions that multiply two words by their scales: in assembly, and in plain C.

One VMOV moves both words to the registers for floats, one moves both back. The numbers are rounded
as by `npu_dsp_round`.
"""

from __future__ import annotations

from collections.abc import Sequence

LINE_END = '\\n\\t"\n        "'
"""The end of a line of assembly, and the start of the next."""

ROUNDED = (
    "vmov s14, s15, %2, %3",
    "vcvt.f32.s32 s14, s14",
    "vcvt.f32.s32 s15, s15",
    "vmul.f32 s14, s14, %4",
    "vmul.f32 s15, s15, %5",
    "vcvtr.s32.f32 s14, s14",
    "vcvtr.s32.f32 s15, s15",
    "vmov %0, %1, s14, s15",
)
"""The instructions that leave the rounded numbers in two registers for integers."""

JOINED = ("usat %0, #8, %0", "usat %1, #8, %1", "orr %0, %0, %1, lsl #16")
"""The instructions that make them bytes, in the halves of the first register."""


def scaled(instructions: Sequence[str], kind: str, result: str) -> str:
    """A body with some instructions; the two registers are `low` and `high`, of a C type."""
    return (
        f'{kind} low, high;\n__asm__("{LINE_END.join(instructions)}"\n'
        '        : "=r"(low), "=r"(high)\n'
        '        : "r"(a), "r"(b), "t"(x), "t"(y)\n'
        '        : "s14", "s15");\n'
        f"return {result};"
    )


PAIR_IN_ASSEMBLY = scaled(ROUNDED, "uint32_t", "(int64_t)((uint64_t)high << 32 | low)")
PAIR_IN_C = """\
const uint32_t high = (uint32_t)npu_dsp_round((float)b * y);
return (int64_t)((uint64_t)high << 32 | (uint32_t)npu_dsp_round((float)a * x));"""
BYTES_IN_ASSEMBLY = scaled((*ROUNDED, *JOINED), "int32_t", "low")
BYTES_IN_C = """\
const int32_t low = npu_dsp_usat8(npu_dsp_round((float)a * x));
const int32_t high = npu_dsp_usat8(npu_dsp_round((float)b * y));
return (int32_t)((uint32_t)low | (uint32_t)high << 16);"""
