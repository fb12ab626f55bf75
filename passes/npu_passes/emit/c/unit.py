"""Collects what a C file needs while it is printed: headers, and small helper functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute

from npu_dialect.dma import TokenType
from npu_passes.emit.c.types import TOKEN, VECTOR_TYPES, CType, element_type


@dataclass
class Unit:
    """The headers and helper functions that a C file needs; printing its functions adds them.

    `index`: the type of indices.
    """

    index: CType
    headers: set[str] = field(default_factory=set[str])
    helpers: dict[str, str] = field(default_factory=dict[str, str])
    """The definitions of small functions by their names, in the order of their first use."""

    def ctype(self, type_: Attribute) -> CType:
        """The C type for a type; the header that it needs is added."""
        if (vector := VECTOR_TYPES.get(type_)) is not None:
            self.use_vectors()
            return vector
        if isinstance(type_, TokenType):
            return TOKEN
        found = self.index if isinstance(type_, IndexType) else element_type(type_)
        assert found is not None, "checked before printing"
        if found.header:
            self.headers.add(found.header)
        return found

    def use_vectors(self) -> None:
        """Add the types of vectors if they are new."""
        self.headers.add("stdint.h")
        self.helpers.setdefault(MVE_ARM, VECTORS)

    def helper(self, template: str, ctype: CType) -> str:
        """Add the helper function for a type if it is new; returns its name."""
        name = f"npu_{template}_{ctype.name}"
        if name not in self.helpers:
            names = {"name": name, "t": ctype.name, "bytes": ctype.bytes}
            self.helpers[name] = HELPERS[template].format(**names)
        return name


MVE_ARM = "NPU_MVE_ARM"
"""The macro that is defined if the machine has the vector unit."""

VECTORS = """\
/* Vectors of 16 bytes: types of Arm, or structs of lanes. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(__ARM_BIG_ENDIAN)
#include <arm_mve.h>
#define NPU_MVE_ARM 1
typedef int8x16_t npu_i8x16;
typedef int16x8_t npu_i16x8;
typedef int32x4_t npu_i32x4;
typedef float32x4_t npu_f32x4;
#if defined(__GNUC__) && !defined(__clang__)
/* GCC would copy pointers to step them, where loads have distances from one pointer. */
#pragma GCC optimize("no-auto-inc-dec")
#endif
#else
typedef struct { int8_t lane[16]; } npu_i8x16;
typedef struct { int16_t lane[8]; } npu_i16x8;
typedef struct { int32_t lane[4]; } npu_i32x4;
typedef struct { float lane[4]; } npu_f32x4;
#endif
"""
"""The types of vectors."""

HELPERS = {
    "rounded": """\
/* A rounded product: a compiler cannot contract it with the sum that reads it. (`__ARM_FP` has a
 * bit for each size, in bytes, of the floats that the FPU computes with.) */
static inline {t} {name}({t} product)
{{
#ifdef __GNUC__
#if defined(__SSE2__)
    __asm__("" : "+x"(product));
#elif defined(__aarch64__) || (defined(__ARM_FP) && (__ARM_FP & {bytes}))
    __asm__("" : "+w"(product));
#elif defined(__riscv_flen) && __riscv_flen >= 8 * {bytes}
    __asm__("" : "+f"(product));
#else
    __asm__("" : "+g"(product));
#endif
#endif
    return product;
}}
""",
    "of_bits": """\
/* The float with some bits. */
static inline {t} {name}(int32_t bits)
{{
    {t} number;
    memcpy(&number, &bits, sizeof number);
    return number;
}}
""",
    "floor_div": """\
/* The quotient, rounded down. */
static inline {t} {name}({t} a, {t} b)
{{
    return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}}
""",
    "ceil_div": """\
/* The quotient, rounded up. */
static inline {t} {name}({t} a, {t} b)
{{
    return ({t})(a / b + (a % b != 0 && (a < 0) == (b < 0)));
}}
""",
    "maximum": """\
/* The greater one; NaN if one is NaN; +0 is greater than -0. */
static inline {t} {name}({t} a, {t} b)
{{
    if (a == b) {{
        return signbit(a) ? b : a;
    }}
    return a > b || a != a ? a : b;
}}
""",
    "minimum": """\
/* The smaller one; NaN if one is NaN; -0 is smaller than +0. */
static inline {t} {name}({t} a, {t} b)
{{
    if (a == b) {{
        return signbit(a) ? a : b;
    }}
    return a < b || a != a ? a : b;
}}
""",
}

HELPER_NAMES = frozenset(
    f"npu_{template}_{ctype}"
    for template in HELPERS
    for ctype in ("float", "double", "int", "ptrdiff_t", "int8_t", "int16_t", "int32_t", "int64_t")
)
"""The names that helper functions can have."""
