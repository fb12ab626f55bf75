"""The numbers of indices and conditions while a loop is run, iteration by iteration."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue


class NotKnown(Exception):
    """An index, bound or condition cannot be evaluated, or there are too many steps."""


@dataclass
class IndexValues:
    """Evaluates ops on indices; `numbers` are the values that are known so far."""

    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int], kw_only=True)

    def number(self, value: SSAValue) -> int:
        """The current number of an index or condition.

        Raises: NotKnown if it cannot be evaluated.
        """
        if value not in self.numbers and isinstance(value.owner, Operation):
            self.evaluate(value.owner)
        if value not in self.numbers:
            raise NotKnown
        return self.numbers[value]

    def evaluate(self, op: Operation) -> None:
        """Note the result of an op on indices; other ops are ignored."""
        if (found := self.computed(op)) is not None:
            self.numbers[op.results[0]] = found

    def computed(self, op: Operation) -> int | None:
        """The result of an op on known indices; None if it is another op or an index is unknown."""
        if isinstance(op, arith.ConstantOp):
            return op.value.value.data if isinstance(op.value, IntegerAttr) else None
        compute = COMPUTED.get(type(op))
        if compute is None and not isinstance(op, arith.CmpiOp):
            return None
        try:
            values = [self.number(value) for value in op.operands]
            if isinstance(op, arith.CmpiOp):
                return compared(op.predicate.value.data, *values)
            return None if compute is None else compute(*values)
        except (NotKnown, ZeroDivisionError):
            return None


def quotient(one: int, other: int) -> int:
    """The result of `arith.floordivsi`."""
    return one // other


def selected(condition: int, one: int, other: int) -> int:
    """The result of `arith.select`."""
    return one if condition else other


COMPUTED: Mapping[type[Operation], Callable[..., int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.FloorDivSIOp: quotient,
    arith.RemUIOp: operator.mod,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.SelectOp: selected,
}
"""The ops on indices that are evaluated, besides constants and comparisons."""

SIGNED: Sequence[Callable[[int, int], bool]] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)
"""The predicates of `arith.cmpi` in their order: eq, ne, slt, sle, sgt, sge."""


def compared(predicate: int, one: int, other: int) -> int:
    """The result of `arith.cmpi`, 0 or 1, by the number of its predicate.

    The unsigned predicates ult, ule, ugt and uge follow the signed ones.
    """
    if predicate < len(SIGNED):
        return int(SIGNED[predicate](one, other))
    width = 1 << 64
    return int(SIGNED[predicate - 4](one % width, other % width))
