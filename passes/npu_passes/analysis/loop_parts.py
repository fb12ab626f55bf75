"""Splits loops where the decisions change that depend on their numbers.

    scf.for %oy = 0 to 8 {
      %inside = arith.cmpi ult, %oy - 1, 6
      %last = arith.select %inside, 7, 1

%inside is false for row 0, true for rows 1 to 6, and false for row 7: three loops in which it is
known. So are minima and maxima, such as the first tap of a window that is not on padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from npu_passes.analysis.affine_index import constant_of
from npu_passes.analysis.index_values import IndexValues

MOST_NUMBERS = 1024
"""The most iterations of a loop whose conditions are evaluated."""

LINEAR = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""Sums and multiples of indices."""
DECIDED = (arith.CmpiOp, arith.MinSIOp, arith.MaxSIOp)
"""Comparisons, minima and maxima of indices."""

MOST_PARTS = 4
"""The most parts into which a loop is split."""


def parts_of(
    index: SSAValue, numbers: range, known: Mapping[SSAValue, int]
) -> list[tuple[range, dict[SSAValue, bool]]]:
    """The parts of a loop over `index` in which no decision changes, with how each is taken.

    `known` are the numbers of other loops. The loop is one part without answers if no decision
    depends on it, or if there are too many parts.
    """
    decisions = dict.fromkeys(decisions_on(index, known))
    if not decisions or len(numbers) > MOST_NUMBERS:
        return [(numbers, {})]
    found: list[tuple[range, dict[SSAValue, bool]]] = []
    for place, number in enumerate(numbers):
        state = IndexValues(numbers={**known, index: number})
        here = {each: answer(each, state) for each in decisions}
        if found and found[-1][1] == here:
            found[-1] = numbers[place - len(found[-1][0]) : place + 1], here
        else:
            found.append((numbers[place : place + 1], here))
        if len(found) > MOST_PARTS:
            return [(numbers, {})]
    return found


def decisions_on(index: SSAValue, known: Mapping[SSAValue, int]) -> Iterator[SSAValue]:
    """Comparisons, minima and maxima of what is computed from an index and known numbers."""
    for use in index.uses:
        op = use.operation
        if len(op.operands) != 2 or not isinstance(op, (*LINEAR, *DECIDED)):
            continue
        other = op.operands[1 - use.index]
        if constant_of(other) is None and other not in known and not is_computed(other, known):
            continue
        if isinstance(op, DECIDED):
            yield op.results[0]
        if not isinstance(op, arith.CmpiOp):
            yield from decisions_on(op.results[0], known)


def is_computed(value: SSAValue, known: Mapping[SSAValue, int]) -> bool:
    """Whether an index is a sum or multiple of known numbers."""
    return isinstance(value.owner, LINEAR) and all(
        each in known or constant_of(each) is not None or is_computed(each, known)
        for each in value.owner.operands
    )


def answer(decision: SSAValue, state: IndexValues) -> bool:
    """Whether a comparison holds; of a minimum or maximum, whether it is the first operand."""
    op = decision.owner
    if isinstance(op, arith.MinSIOp | arith.MaxSIOp):
        return state.number(decision) == state.number(op.lhs)
    return bool(state.number(decision))
