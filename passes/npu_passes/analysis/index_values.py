"""The numbers of indices and conditions while a loop is run, iteration by iteration."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

MOST_STEPS = 200_000
"""The most ops that are run; loops over rows take thousands."""


class NotKnown(Exception):
    """An index, bound or condition cannot be evaluated, or there are too many steps."""


@dataclass
class IndexValues:
    """Runs ops on indices, loops and branches. Subclasses note what other ops do.

    `numbers` are the values that are known so far, `steps` the ops that have run, `most` the most
    that may run.
    """

    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int], kw_only=True)
    steps: int = field(default=0, kw_only=True)
    most: int = field(default=MOST_STEPS, kw_only=True)

    def run(self, block: Block) -> None:
        """Run the ops of a block.

        Raises: NotKnown if a value cannot be evaluated, or after `most` ops.
        """
        for op in block.ops:
            self.steps += 1
            if self.steps > self.most:
                raise NotKnown
            match op:
                case scf.ForOp():
                    self.run_loop(op)
                case scf.IfOp():
                    self.run_branch(op)
                case _:
                    self.do(op)

    def run_loop(self, op: scf.ForOp) -> None:
        """Run the iterations of a loop."""
        first, end, step = map(self.number, (op.lb, op.ub, op.step))
        for index in range(first, end, max(step, 1)):
            self.numbers[op.body.block.args[0]] = index
            self.run(op.body.block)

    def run_branch(self, op: scf.IfOp) -> None:
        """Run the side that is taken."""
        region = op.true_region if self.number(op.cond) else op.false_region
        for block in region.blocks:
            self.run(block)

    def do(self, op: Operation) -> None:
        """Run an op that is no loop and no branch."""
        self.evaluate(op)

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
        try:
            found = result_of(op, self.number)
        except NotKnown:
            return
        if found is not None:
            self.numbers[op.results[0]] = found


def result_of(op: Operation, number: Callable[[SSAValue], int | None]) -> int | None:
    """The integer that an op computes from known ones, which `number` gives.

    None if it is another op, or if a number is None.
    """
    if (compute := COMPUTED.get(type(op))) is None:
        if isinstance(op, arith.ConstantOp):
            return op.value.value.data if isinstance(op.value, IntegerAttr) else None
        if not isinstance(op, arith.CmpiOp):
            return None
        compute = partial(compared, op.predicate.value.data)
    known = [each for value in op.operands if (each := number(value)) is not None]
    return compute(*known) if len(known) == len(op.operands) else None


def quotient(one: int, other: int) -> int | None:
    """The result of `arith.floordivsi`, and of `arith.divui` from 0 on; None for one by 0."""
    return one // other if other else None


def rest(one: int, other: int) -> int | None:
    """The result of `arith.remui` on numbers from 0 on; None for a division by 0."""
    return one % other if other else None


def selected(condition: int, one: int, other: int) -> int:
    """The result of `arith.select`."""
    return one if condition else other


COMPUTED: Mapping[type[Operation], Callable[..., int | None]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.FloorDivSIOp: quotient,
    arith.DivUIOp: quotient,
    arith.RemUIOp: rest,
    arith.AndIOp: int.__and__,
    arith.OrIOp: int.__or__,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.SelectOp: selected,
    arith.IndexCastOp: int,
}
"""The ops whose results are known, besides constants and comparisons."""

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
