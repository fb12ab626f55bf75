"""How often each block of a function runs in one run of the function. Pure reading.

Level of IR: loops whose bounds are constants, or follow from the counters of outer loops, as at the
border of a padded map. A loop on whose counter a bound or a condition depends is run number by
number; all others once, times their trips:

    scf.for %y = %c0 to %c28 step %c1 {            // its body: 28 times
      %low = arith.maxsi %first, %c0               // follows from %y
      scf.for %k = %low to %c3 step %c1 {          // its body: for each %y anew

Of a branch whose condition is not known, each side counts half.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import SELDOM
from npu_passes.analysis.index_values import result_of
from npu_passes.support.refuse import refuse

INTEGERS = (IndexType, IntegerType)
"""The types of what a bound or condition can follow from."""


def block_times(function: func.FuncOp) -> dict[Block, float]:
    """The runs of each block of a function in one run of the function.

    Raises: PassFailedException for a loop whose bounds do not follow from constants and counters.
    """
    counter = Counter()
    for block in function.body.blocks:
        counter.run(block, 1.0, {})
    return dict(counter.times)


@dataclass
class Counter:
    """Counts the runs of blocks."""

    times: defaultdict[Block, float] = field(default_factory=lambda: defaultdict(float))
    _deciding: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    _ops: dict[Block, tuple[Operation, ...]] = field(
        default_factory=dict[Block, tuple[Operation, ...]]
    )

    def run(self, block: Block, times: float, values: dict[SSAValue, int]) -> None:
        """Add so many runs of a block, and to `values`, the known integers, those of its ops."""
        self.times[block] += times
        for op in self.ops(block):
            if isinstance(op, scf.ForOp):
                self.run_loop(op, times, values)
            elif isinstance(op, scf.IfOp):
                taken = 0 if SELDOM.is_on(op) else values.get(op.cond)
                for region, answer in ((op.true_region, 1), (op.false_region, 0)):
                    share = 0.5 if taken is None else float(bool(taken) == bool(answer))
                    for inner in region.blocks if share else ():
                        self.run(inner, times * share, dict(values))
            elif (number := result_of(op, values.get)) is not None:
                values[op.results[0]] = number

    def run_loop(self, loop: scf.ForOp, times: float, values: dict[SSAValue, int]) -> None:
        """Add the runs of a loop."""
        low, high, step = (values.get(value) for value in (loop.lb, loop.ub, loop.step))
        if low is None or high is None or step is None or step < 1:
            refuse(loop, "expected a loop whose bounds follow from constants and other loops")
        trips, body = range(low, high, step), loop.body.block
        index = body.args[0]
        if not self.is_deciding(index):
            self.run(body, times * len(trips), dict(values))
            return
        for number in trips:
            self.run(body, times, {**values, index: number})

    def ops(self, block: Block) -> tuple[Operation, ...]:
        """The ops of a block that have blocks, or from which a bound or condition follows."""
        if block not in self._ops:
            self._ops[block] = tuple(
                op for op in block.ops if op.regions or any(map(self.is_deciding, op.results))
            )
        return self._ops[block]

    def is_deciding(self, value: SSAValue) -> bool:
        """Whether a bound of a loop or the condition of a branch follows from a value."""
        if value not in self._deciding:
            self._deciding[value] = False
            self._deciding[value] = isinstance(value.type, INTEGERS) and any(
                isinstance(use.operation, scf.IfOp)
                or (isinstance(use.operation, scf.ForOp) and use.index < 3)
                or (not use.operation.regions and any(map(self.is_deciding, use.operation.results)))
                for use in value.uses
            )
        return self._deciding[value]
