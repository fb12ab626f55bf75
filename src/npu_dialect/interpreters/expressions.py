"""The meaning of scalar ops as Python expressions of their operands, `{0}`, `{1}` and so on.

A layer at the level of loops runs millions of these ops. As text they become part of one line of
Python, which takes a fraction of the time of a call. `function_of` makes the same text a function,
so an op means the same inside a loop and outside.

Integers are Python integers in the signed range of their type, words are i32, and i1 is a bool.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation

from npu_dialect import dsp
from npu_dialect.interpreters.values import bits_of

WIDEST = 2**24
"""The most bits of an integer type. Larger shifts are cut to this, as their result is 0 anyway and
would take memory without bound."""

INTEGERS: dict[type[Operation], str] = {
    arith.AddiOp: "{0} + {1}",
    arith.SubiOp: "{0} - {1}",
    arith.MuliOp: "{0} * {1}",
    arith.MinSIOp: "min({0}, {1})",
    arith.MaxSIOp: "max({0}, {1})",
    arith.AndIOp: "{0} & {1}",
    arith.OrIOp: "{0} | {1}",
    arith.XOrIOp: "{0} ^ {1}",
    arith.ShLIOp: f"{{0}} << min({{1}}, {WIDEST})",
    arith.ShRSIOp: "{0} >> {1}",
}
"""Integer ops, before the result wraps around at the width of its type."""

ANY_TYPE: dict[type[Operation], str] = {
    arith.AddfOp: "{0} + {1}",
    arith.SubfOp: "{0} - {1}",
    arith.MulfOp: "{0} * {1}",
    arith.NegfOp: "-{0}",
    arith.SelectOp: "{1} if {0} else {2}",
}
"""Ops that Python computes in the type of the operands."""

PREDICATES = ("==", "!=", "<", "<=", ">", ">=")
"""The signed predicates of `arith.cmpi`, in the order of their numbers 0 to 5. The numbers 6 to 9
are the last four, read as unsigned."""


def wrapped_text(text: str, bits: int) -> str:
    """An integer, wrapped around to the signed range of `bits` bits; a bool for one bit.

    Numbers are hexadecimal, as Python limits the digits of decimal ones.
    """
    if bits == 1:
        return f"bool(({text}) & 1)"
    half = 1 << (bits - 1)
    return f"((({text}) + {half:#x} & {2 * half - 1:#x}) - {half:#x})"


def comparison(op: arith.CmpiOp) -> str:
    """`arith.cmpi` with the predicate of the op."""
    number = op.predicate.value.data
    if number < len(PREDICATES):
        return f"{{0}} {PREDICATES[number]} {{1}}"
    mask = (1 << bits_of(op.lhs.type)) - 1
    return f"({{0}} & {mask:#x}) {PREDICATES[number - 4]} ({{1}} & {mask:#x})"


def half(word: str, letter: str) -> str:
    """The bottom ("b") or top ("t") half of a word, as a signed number."""
    return f"({word} >> 16)" if letter == "t" else wrapped_text(word, 16)


def word_of(bottom: str, top: str) -> str:
    """The word with these halves; of each, only the lowest 16 bits count."""
    return f"({wrapped_text(top, 16)} << 16 | ({bottom}) & 65535)"


def extended(x: str, rotate: int, *, signed: bool, halves: tuple[str, str] | None = None) -> str:
    """Bytes 0 and 2 of a word (`rotate` 0), or 1 and 3 (8), extended and added to two halves."""
    found: list[str] = []
    for place, addend in zip((rotate, rotate + 16), halves or ("", ""), strict=True):
        byte = f"{x} >> {place}"
        byte = wrapped_text(byte, 8) if signed else f"({byte} & 255)"
        found.append(f"{addend} + {byte}" if addend else byte)
    return word_of(*found)


def word_expression(op: Operation) -> str | None:
    """The expression of an op on packed words; None if it has none."""
    match op:
        case dsp.Sxtb16Op() | dsp.Uxtb16Op():
            return extended("{0}", op.rotate.value.data, signed=isinstance(op, dsp.Sxtb16Op))
        case dsp.Sxtab16Op() | dsp.Uxtab16Op():
            signed, halves = isinstance(op, dsp.Sxtab16Op), ("{0}", "({0} >> 16)")
            return extended("{1}", op.rotate.value.data, signed=signed, halves=halves)
        case dsp.SmladOp():
            products = [f"{half('{0}', each)} * {half('{1}', each)}" for each in "bt"]
            return wrapped_text(" + ".join(["{2}", *products]), 32)
        case dsp.SmlaOp():
            first, second = op.halves.data
            return wrapped_text(f"{{2}} + {half('{0}', first)} * {half('{1}', second)}", 32)
        case dsp.PackOp():
            first, second = op.halves.data
            return word_of(half("{0}", first), half("{1}", second))
        case dsp.SsatOp():
            end = 1 << (op.bits.value.data - 1)
            return f"min(max({{0}}, {-end}), {end - 1})"
        case dsp.UsatOp():
            return f"min(max({{0}}, 0), {(1 << op.bits.value.data) - 1})"
        case _:
            return None


WORDS: tuple[type[Operation], ...] = (
    dsp.PackOp,
    dsp.SmladOp,
    dsp.SmlaOp,
    dsp.SsatOp,
    dsp.Sxtab16Op,
    dsp.Sxtb16Op,
    dsp.UsatOp,
    dsp.Uxtab16Op,
    dsp.Uxtb16Op,
)
"""The ops of `word_expression`."""

WITH_EXPRESSIONS = (*INTEGERS, *ANY_TYPE, arith.CmpiOp, *WORDS)
"""All ops that have an expression."""


def expression_of(op: Operation) -> str | None:
    """The expression of an op, with `{0}`, `{1}`, ... for its operands; None if it has none."""
    if (text := INTEGERS.get(type(op))) is not None:
        type_: Attribute = op.results[0].type
        return text if isinstance(type_, IndexType) else wrapped_text(text, bits_of(type_))
    if (text := ANY_TYPE.get(type(op))) is not None:
        return text
    return comparison(op) if isinstance(op, arith.CmpiOp) else word_expression(op)


@lru_cache(maxsize=1024)
def function_of(expression: str, operands: int) -> Callable[..., Any]:
    """An expression as a function of that many operands."""
    names = [f"v{index}" for index in range(operands)]
    return eval(f"lambda {', '.join(names)}: {expression.format(*names)}")
