"""Functions of two numbers in loops: float32, or i32 that hold integers of any element type."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect.npu.enums import COMPARISONS, BinaryKind
from npu_passes.support.loop_builder import LoopBuilder

PREDICATES: dict[BinaryKind, tuple[str, str]] = {
    BinaryKind.EQUAL: ("oeq", "eq"),
    BinaryKind.NOT_EQUAL: ("une", "ne"),
    BinaryKind.LESS: ("olt", "slt"),
    BinaryKind.LESS_OR_EQUAL: ("ole", "sle"),
    BinaryKind.GREATER: ("ogt", "sgt"),
    BinaryKind.GREATER_OR_EQUAL: ("oge", "sge"),
}
"""The predicates of `arith.cmpf` and `arith.cmpi` for each comparison."""

FLOATS: dict[BinaryKind, type[arith.SubfOp | arith.MulfOp | arith.DivfOp]] = {
    BinaryKind.SUB: arith.SubfOp,
    BinaryKind.MUL: arith.MulfOp,
    BinaryKind.DIV: arith.DivfOp,
}
"""Functions of float32 that are one op."""

INTEGERS: dict[
    BinaryKind, type[arith.SubiOp | arith.MuliOp | arith.AndIOp | arith.OrIOp | arith.XOrIOp]
] = {
    BinaryKind.SUB: arith.SubiOp,
    BinaryKind.MUL: arith.MuliOp,
    BinaryKind.AND: arith.AndIOp,
    BinaryKind.OR: arith.OrIOp,
    BinaryKind.XOR: arith.XOrIOp,
}
"""Functions of i32 that are one op; they wrap around."""


def paired(b: LoopBuilder, kind: BinaryKind, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """What `BinaryKind` says of two numbers; a comparison gives an i32 of 0 or 1."""
    if kind in COMPARISONS:
        holds = b.compared(lhs, rhs, *PREDICATES[kind])
        return b.insert(arith.ExtUIOp(holds, i32)).result
    if kind in (BinaryKind.MAX, BinaryKind.MIN):
        return extreme(b, kind, lhs, rhs)
    if lhs.type != i32:
        if kind == BinaryKind.POW:
            return b.pow(lhs, rhs)
        if kind == BinaryKind.MOD:
            return with_sign(b, rest(b, lhs, rhs), rhs)
        if kind == BinaryKind.REM:
            return rest(b, lhs, rhs)
        return b.insert(FLOATS[kind](lhs, rhs)).results[0]
    if kind in INTEGERS:
        return b.insert(INTEGERS[kind](lhs, rhs)).results[0]
    return divided(b, kind, lhs, rhs)


def rest(b: LoopBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The rest of a division of floats, with the sign of the dividend."""
    from xdsl.dialects.llvm import FRemOp  # few programs need this large dialect

    return b.insert(FRemOp(lhs, rhs), "rest").res


def extreme(
    b: LoopBuilder, kind: BinaryKind, lhs: SSAValue, rhs: SSAValue, hint: str | None = None
) -> SSAValue:
    """The greater or the smaller one of two numbers; NaN if one is NaN."""
    if lhs.type == i32:
        op = arith.MaxSIOp if kind == BinaryKind.MAX else arith.MinSIOp
        return b.insert(op(lhs, rhs), hint).result
    better = b.insert(arith.CmpfOp(lhs, rhs, "ogt" if kind == BinaryKind.MAX else "olt")).result
    is_nan = b.insert(arith.CmpfOp(lhs, lhs, "une")).result
    wins = b.insert(arith.OrIOp(better, is_nan)).result
    return b.insert(arith.SelectOp(wins, lhs, rhs), hint).result


def divided(b: LoopBuilder, kind: BinaryKind, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The quotient or a rest of two i32, without a division that C leaves undefined.

    Those are x / 0 and -2^31 / -1. Both divisors are replaced by 1.
    """
    zero, one = b.integer(0), b.integer(1)
    is_zero = b.insert(arith.CmpiOp(rhs, zero, "eq")).result
    is_minus = b.insert(arith.CmpiOp(rhs, b.integer(-1), "eq")).result
    odd = b.insert(arith.OrIOp(is_zero, is_minus)).result
    divisor = b.insert(arith.SelectOp(odd, one, rhs), "divisor").result
    if kind == BinaryKind.DIV:
        found = b.insert(arith.DivSIOp(lhs, divisor)).result
        negative = b.insert(arith.SubiOp(zero, lhs)).result
        found = b.insert(arith.SelectOp(is_minus, negative, found)).result
        return b.insert(arith.SelectOp(is_zero, zero, found)).result
    rest = b.insert(arith.RemSIOp(lhs, divisor), "rest").result
    if kind == BinaryKind.REM:
        return rest
    return with_sign(b, rest, divisor)


def with_sign(b: LoopBuilder, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """A rest with the sign of the dividend as that with the sign of the divisor."""
    is_float = rest.type != i32
    zero = b.real(0.0) if is_float else b.integer(0)
    below, under = (b.compared(each, zero, "olt", "slt") for each in (rest, divisor))
    differ = b.insert(arith.XOrIOp(below, under)).result
    left = b.compared(rest, zero, "one", "ne")
    wrong = b.insert(arith.AndIOp(differ, left)).result
    moved = b.addf(rest, divisor) if is_float else b.insert(arith.AddiOp(rest, divisor)).result
    return b.insert(arith.SelectOp(wrong, moved, rest)).result


def is_true(b: LoopBuilder, value: SSAValue) -> SSAValue:
    """Whether an i32 is not 0, as an i1."""
    return b.insert(arith.CmpiOp(value, b.integer(0), "ne")).result
