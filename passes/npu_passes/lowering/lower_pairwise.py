"""Lower arithmetic, comparisons and selections of maps, and casts, to loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from npu_dialect.npu import CastOp, PairwiseOp, WhereOp
from npu_dialect.npu.enums import COMPARISONS, BinaryKind
from npu_dialect.npu.quantization import QUANTISED
from npu_passes.lowering.lower_simple import elementwise
from npu_passes.support.common import LoopOptions
from npu_passes.support.integers import bounds_of, element_of
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.support.pairs import is_true, paired

BEYOND = float(2**31)
"""The least float32 that no i32 holds."""


def lower_pairwise(b: LoopBuilder, op: PairwiseOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.binary`.

    A map of integers compared with itself is a constant: C compilers warn about the comparison.
    """
    kind = op.kind.data
    if kind in COMPARISONS and op.lhs is op.rhs and element_of(op.lhs) != f32:
        holds = kind in (BinaryKind.EQUAL, BinaryKind.LESS_OR_EQUAL, BinaryKind.GREATER_OR_EQUAL)
        elementwise(b, [], out, lambda _: b.integer(int(holds)))
        return
    elementwise(b, [op.lhs, op.rhs], out, lambda values: paired(b, kind, *values))


def lower_where(b: LoopBuilder, op: WhereOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.where`."""

    def prepare(place: int, value: SSAValue) -> SSAValue:
        return value if place else is_true(b, value)

    def body(values: Sequence[SSAValue]) -> SSAValue:
        return b.insert(arith.SelectOp(*values)).result

    elementwise(b, [op.condition, op.lhs, op.rhs], out, body, prepare)


def lower_cast(b: LoopBuilder, op: CastOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.cast`."""

    def body(values: Sequence[SSAValue]) -> SSAValue:
        (value,) = values
        element = element_of(out)
        if value.type == f32:
            return value if element == f32 else truncated(b, value, out)
        if element == f32:
            return b.insert(arith.SIToFPOp(value, f32)).result
        return value

    elementwise(b, [op.input], out, body)


def truncated(b: LoopBuilder, value: SSAValue, out: SSAValue) -> SSAValue:
    """A float32 as the next i32 towards zero, between the limits of the elements of `out`."""
    is_nan = b.insert(arith.CmpfOp(value, value, "une")).result
    number = b.insert(arith.SelectOp(is_nan, b.real(0.0), value)).result
    low, high = bounds_of(element_of(out), None)
    if element_of(out) in QUANTISED:
        number = b.at_most(b.at_least(number, b.real(float(low))), b.real(float(high)))
        return b.insert(arith.FPToSIOp(number, i32)).result
    number = b.at_least(number, b.real(float(low)))
    is_beyond = b.insert(arith.CmpfOp(number, b.real(BEYOND), "oge")).result
    inside = b.insert(arith.SelectOp(is_beyond, b.real(0.0), number)).result
    whole = b.insert(arith.FPToSIOp(inside, i32)).result
    return b.insert(arith.SelectOp(is_beyond, b.integer(high), whole)).result
