"""Indices as linear functions of values, and views that never overlap.

    %first = arith.muli %i, %c4          // 4 * i
    %rows = memref.subview %map[0, 0, %first, 0] [1, 8, 4, 16] [1, 1, 1, 1]

The views of iterations i and i + 1 start 4 rows apart and have 4 rows: they share no element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import OpResult, SSAValue


@dataclass(frozen=True)
class Linear:
    """A sum: a constant, plus a factor times each value that is not known.

    No factor is zero.
    """

    constant: int = 0
    factors: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """Self + times * other."""
        factors = dict(self.factors)
        for value, factor in other.factors.items():
            factors[value] = factors.get(value, 0) + times * factor
        left = {value: factor for value, factor in factors.items() if factor}
        return Linear(self.constant + times * other.constant, left)


def constant_of(value: SSAValue) -> int | None:
    """The integer of an `arith.constant`; None for other values."""
    if isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp):
        number = value.op.value
        return number.value.data if isinstance(number, IntegerAttr) else None
    return None


def linear(value: SSAValue) -> Linear:
    """An index as a linear function of values that are themselves no sums or multiples."""
    if (number := constant_of(value)) is not None:
        return Linear(number)
    match value.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return linear(lhs).plus(linear(rhs))
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return linear(lhs).plus(linear(rhs), -1)
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            one, other = linear(lhs), linear(rhs)
            if not other.factors:
                return Linear().plus(one, other.constant)
            if not one.factors:
                return Linear().plus(other, one.constant)
        case _:
            pass
    return Linear(0, {value: 1})


def extents(op: memref.SubviewOp) -> list[tuple[Linear, int]] | None:
    """First index and number of elements of a view along each axis of its buffer.

    None if a size is not static or a stride of the view is not 1.
    """
    if op.sizes or any(step != 1 for step in op.static_strides.get_values()):
        return None
    dynamic = iter(op.offsets)
    firsts = [
        linear(next(dynamic)) if offset == DYNAMIC_INDEX else Linear(offset)
        for offset in op.static_offsets.get_values()
    ]
    return list(zip(firsts, op.static_sizes.get_values(), strict=True))


def apart(later: SSAValue, earlier: SSAValue, variable: SSAValue, distances: Sequence[int]) -> bool:
    """Whether two views of one buffer, taken in different iterations, share no element.

    `later` is taken when `variable` is larger than for `earlier`, by each of `distances` in turn.
    False if it is not known.
    """
    ours, theirs = later.owner, earlier.owner
    if not isinstance(ours, memref.SubviewOp) or not isinstance(theirs, memref.SubviewOp):
        return False
    one, other = extents(ours), extents(theirs)
    if one is None or other is None or ours.source is not theirs.source:
        return False
    return all(
        any(
            _disjoint(first, size, second, count, first.factors.get(variable, 0) * distance)
            for (first, size), (second, count) in zip(one, other, strict=True)
        )
        for distance in distances
    )


def _disjoint(first: Linear, size: int, second: Linear, count: int, moved: int) -> bool:
    """Whether [first + moved, + size) and [second, + count) are known not to overlap."""
    gap = first.plus(second, -1)
    if gap.factors:
        return False
    return gap.constant + moved >= count or gap.constant + moved <= -size
