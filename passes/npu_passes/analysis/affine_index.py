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
from xdsl.ir import Block, Operation, OpResult, SSAValue


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


def place_of(view: SSAValue) -> tuple[SSAValue, list[tuple[Linear, int]]] | None:
    """A buffer, and for each of its axes the first index and the number of elements of a view.

    The buffer may be a view itself, of a kind that is not followed. None for any other value.
    """
    places: list[tuple[Linear, int]] | None = None
    while isinstance(view.owner, memref.SubviewOp):
        found = extents(view.owner)
        if found is None or len(view.owner.result.type.get_shape()) != len(found):
            break
        inner = places or [(Linear(), size) for _, size in found]
        places = [(a.plus(b), size) for (a, _), (b, size) in zip(found, inner, strict=True)]
        view = view.owner.source
    return None if places is None else (view, places)


def apart(later: SSAValue, earlier: SSAValue, variable: SSAValue, distances: Sequence[int]) -> bool:
    """Whether two views of one buffer, taken in different iterations, share no element.

    `later` is taken when `variable`, that of a loop, is larger than for `earlier`, by each of
    `distances` in turn. False if it is not known.
    """
    ours, theirs = place_of(later), place_of(earlier)
    if ours is None or theirs is None or ours[0] is not theirs[0]:
        return False
    pairs = list(zip(ours[1], theirs[1], strict=True))
    divisors = {
        constant_of(value.owner.rhs)
        for (first, _), _ in pairs
        for value in first.factors
        if isinstance(value.owner, arith.DivUIOp | arith.RemUIOp)
    }
    if len(divisors) > 1:
        return False  # each of them has carries of its own
    return all(
        any(_disjoint(one, other, variable, distance, carries) for one, other in pairs)
        for distance in distances
        for carries in (False, True)
    )


def _disjoint(
    one: tuple[Linear, int],
    other: tuple[Linear, int],
    variable: SSAValue,
    distance: int,
    carries: bool,
) -> bool:
    """Whether [first + what it has moved, + size) and [second, + count) do not overlap for sure.

    `carries`: whether a quotient of the variable grows by one more than the quotient of `distance`.
    """
    (first, size), (second, count) = one, other
    gap, moved = first.plus(second, -1), 0
    for value, factor in first.factors.items():
        change = _change(value, variable, distance, carries)
        if change is None:
            return False
        moved += factor * change
    if gap.factors:
        return False
    return gap.constant + moved >= count or gap.constant + moved <= -size


def _change(value: SSAValue, variable: SSAValue, distance: int, carries: bool) -> int | None:
    """By how much a value is larger if the variable of its loop is larger by `distance`.

    Known for the variable, its quotients and rests, and what is computed outside of the loop.
    """
    if value is variable:
        return distance
    body = variable.owner
    op = value.owner
    if isinstance(body, Block) and not (isinstance(op, Operation) and body.is_ancestor(op)):
        return None if isinstance(op, Block) and body.is_ancestor(op) else 0
    if not isinstance(op, arith.DivUIOp | arith.RemUIOp) or op.lhs is not variable:
        return None
    divisor = constant_of(op.rhs)
    if divisor is None or divisor < 1:
        return None
    carry = int(carries and distance % divisor > 0)
    if isinstance(op, arith.DivUIOp):
        return distance // divisor + carry
    return distance % divisor - carry * divisor
