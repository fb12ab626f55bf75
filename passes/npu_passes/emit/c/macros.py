"""Macros of the C that say what a compiler has, and what it must not do."""

from __future__ import annotations

from npu_dialect.dsp import MOST_KEPT

ARM = "NPU_DSP_ARM"
"""The macro that is defined if the machine has the instructions."""

KEEP_ORDER = "NPU_KEEP_ORDER"
"""The macro across which a compiler must not move accesses to memory."""

OPAQUE = "NPU_OPAQUE"
"""The macro behind which a compiler knows nothing of a pointer."""

NO_INLINE = "NPU_NOINLINE"
"""The macro in front of a function that must not be inlined, so that it has all registers."""

INLINE = "NPU_INLINE"
"""The macro in front of a function that must be inlined where code is optimised, also for size."""

IN_ORDER = "NPU_IN_ORDER"
"""The macro in front of a function whose loads stay where they are; see `loaded_floats.py`."""

MACROS = {
    ARM: """\
/* Words of packed bytes and halves: instructions of Arm, or the same in plain C. */
#if defined(__ARM_FEATURE_SIMD32) && defined(__ARM_FEATURE_DSP) && defined(__GNUC__)
#include <arm_acle.h>
#define NPU_DSP_ARM 1
#endif
""",
    KEEP_ORDER: """\
/* Compilers move no access to memory across this: loads that are hoisted fill the registers. */
#ifndef NPU_KEEP_ORDER
#if defined(__GNUC__) && (defined(__arm__) || defined(__riscv))
#define NPU_KEEP_ORDER() __asm__ volatile("" : : : "memory")
#else
#define NPU_KEEP_ORDER() ((void)0)
#endif
#endif
""",
    OPAQUE: """\
/* Compilers know nothing of a pointer behind this: loads reach several places from it. */
#ifndef NPU_OPAQUE
#if defined(__GNUC__) && (defined(__arm__) || defined(__riscv))
#define NPU_OPAQUE(at) __asm__ volatile("" : "+r"(at))
#else
#define NPU_OPAQUE(at) ((void)(at))
#endif
#endif
""",
    NO_INLINE: """\
/* Tight loops are compiled on their own: inside a caller they would run out of registers. */
#ifndef NPU_NOINLINE
#ifdef __GNUC__
#define NPU_NOINLINE __attribute__((noinline))
#else
#define NPU_NOINLINE
#endif
#endif
""",
    INLINE: """\
/* What fills or reads several registers is inlined, also with -Os: a call would move each. */
#ifndef NPU_INLINE
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define NPU_INLINE inline __attribute__((always_inline))
#else
#define NPU_INLINE inline
#endif
#endif
""",
    IN_ORDER: """\
/* Loads of several registers stay in their order: gcc would move them ahead, and copy registers. */
#ifndef NPU_IN_ORDER
#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#define NPU_IN_ORDER \\
    __attribute__((optimize("no-schedule-insns", "no-tree-coalesce-vars")))
#else
#define NPU_IN_ORDER
#endif
#endif
""",
}
"""The definitions of the macros, by their names; they stand before the functions."""


def keep_sums_name(count: int) -> str:
    """The name of the macro that keeps the order of accesses and of some sums."""
    return f"{KEEP_ORDER}_OF_{count}"


def keep_sums(count: int) -> str:
    """The definition of this macro. Other cores than RISC-V have too few registers for the sums."""
    names = [f"s{number}" for number in range(count)]
    name, inputs = keep_sums_name(count), ", ".join(f'"r"({each})' for each in names)
    return f"""\
/* The same, and these sums are computed before it: else products would fill the registers. */
#if defined(__GNUC__) && defined(__riscv)
#define {name}({", ".join(names)}) \\
    __asm__ volatile("" : : {inputs} : "memory")
#else
#define {name}({", ".join(names)}) {KEEP_ORDER}()
#endif
"""


KEEP_NAMES = frozenset(map(keep_sums_name, range(1, MOST_KEPT + 1)))
"""Names that no local variable may have."""
