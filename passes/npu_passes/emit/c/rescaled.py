"""The C functions for `dsp.rescale`: one for each set of its numbers, in integers.

    %q = dsp.rescale %sum by %factor exponent 38 left 11 between 0 and 255 : i32
->
    npu_dsp_rescale_38_11_0_255(sum, factor)

A result so near to a half that float32 may round it to the other side comes from a function that
computes with floats. Nothing else does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from npu_dialect import dsp
from npu_dialect.fixed_point import WORD_BITS
from npu_passes.emit.c.dsp_helpers import Helper, use_macro
from npu_passes.emit.c.expr import Expr, call
from npu_passes.emit.c.macros import NO_INLINE
from npu_passes.emit.c.types import FLOATS, float_literal
from npu_passes.emit.c.unit import Unit

HIGH_WORD = "npu_dsp_high_word"
IN_FLOATS = "npu_dsp_rescale_in_floats"
RESCALE_NAMES = frozenset({HIGH_WORD, IN_FLOATS})
"""Names that no local variable may have, besides those of the ops themselves."""

SHORT_PRODUCTS = "#if __ARM_ARCH_ISA_THUMB == 1 && !defined(__ARM_ARCH_ISA_ARM)"
"""The condition under which an instruction multiplies to 32 bits only."""

HIGH = Helper(
    "int32_t {}(int32_t a, int32_t b)",
    "The upper 32 bits of a product; without long products up to three less. b is not negative.",
    f"return (int32_t)(((int64_t)a * b) >> {WORD_BITS});",
    """\
const int32_t bottom = a & 0xFFFF, top = a >> 16, b_bottom = b & 0xFFFF, b_top = b >> 16;
const uint32_t middle = (uint32_t)bottom * (uint32_t)b_top;
return top * b_top + ((top * b_bottom) >> 16) + (int32_t)(middle >> 16);""",
    SHORT_PRODUCTS,
)
"""Three products of halves are a third of the function of gcc's library for 64 bits."""

SLOWLY = Helper(
    "int32_t {}(int32_t x, int32_t factor, float unit, int32_t low, int32_t high)",
    "The integer next to x * (factor * unit) in float32, ties to even, between two bounds.",
    """\
const float product = {rounded}((float)x * ((float)factor * unit));
const float least = (float)low, most = (float)high;
const float held = product < least ? least : product > most ? most : product;
return (int32_t)((held + 12582912.0f) - 12582912.0f);""",
    inline=NO_INLINE,
)
"""A function of its own, as it hardly ever runs."""


def name_of(op: dsp.RescaleOp) -> str:
    """The name of the function for an op."""
    numbers = (op.exponent.value.data, op.left.value.data, *op.bounds)
    return f"npu_dsp_rescale_{'_'.join(str(number).replace('-', 'm') for number in numbers)}"


def helper_of(op: dsp.RescaleOp) -> Helper:
    """The function for an op.

    What is near to a half stands `near` above it and below, so it is added once, and the fraction
    is compared with both at once.
    """
    (low, high), shift, left = op.bounds, op.shift, op.left.value.data
    scaled = f"(int32_t)((uint32_t)x << {left})" if left else "x"
    unit = float_literal(op.unit, FLOATS[f32])
    slowly = f"return {IN_FLOATS}(x, factor, {unit}, {low}, {high});"
    lines = [
        f"const int32_t fixed = {HIGH_WORD}({scaled}, factor) + {op.start};",
        f"const int32_t whole = fixed >> {shift};",
        *(f"if (whole < {low}) {{", f"    return {low};", "}"),
        *(f"if (whole > {high}) {{", f"    return {high};", "}"),
    ]
    if op.limit == 2**WORD_BITS - 1:
        lines.append(slowly)
    else:
        lines.append(f"if ((uint32_t)fixed << {WORD_BITS - shift} <= {op.limit}u) {{")
        lines += [f"    {slowly}", "}", "return whole;"]
    body = "\n".join(lines)
    return Helper(
        "int32_t {}(int32_t x, int32_t factor)",
        f"The integer next to x * factor * 2^-{op.exponent.value.data}, from {low} to {high}.",
        body,
    )


def rescaled(op: Operation, operands: Sequence[Expr], unit: Unit) -> Expr:
    """A call of the function for an op, whose definition is added to the unit."""
    rescale = cast(dsp.RescaleOp, op)
    unit.headers.add("stdint.h")
    if IN_FLOATS not in unit.helpers:
        use_macro(unit, NO_INLINE)
        rounded = unit.helper("rounded", FLOATS[f32])
        unit.helpers[HIGH_WORD] = HIGH.text(HIGH_WORD)
        unit.helpers[IN_FLOATS] = SLOWLY.text(IN_FLOATS).replace("{rounded}", rounded)
    name = name_of(rescale)
    unit.helpers.setdefault(name, helper_of(rescale).text(name))
    return call(name, *operands)
