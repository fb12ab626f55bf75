"""How long the layers and transfers of a function take, for `npu-prefetch`.

    scf.for %i = %c0 to %c8 step %c1 {      8 * 900 cycles in front of what follows the loop,
      npu.conv2d ... outs(%a)               900 within it
    }

The cycles are those of the machine's file. Where it has none, and in functions whose loops have
bounds that are not known, everything that computes or moves data takes one cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.dma import StartOp
from npu_dialect.machine import Machine
from npu_passes.analysis.block_times import block_times
from npu_passes.analysis.timed_ops import Moved, NotTimed, moved_by, task_of
from npu_plans.time.rates import Rates, missing_keys


@dataclass(frozen=True)
class Pace:
    """The cycles of ops. `times`: how often each block runs; None: nothing is known."""

    rates: Rates | None
    times: dict[Block, float] | None

    @staticmethod
    def of(function: Operation, machine: Machine) -> Pace:
        """The pace of a function on a machine."""
        rates = None if missing_keys(machine) else Rates.of(machine)
        if rates is None or not isinstance(function, FuncOp):
            return Pace(rates, None)
        try:
            return Pace(rates, block_times(function))
        except PassFailedException:
            return Pace(rates, None)

    def work(self, op: Operation) -> int:
        """Cycles of the layers in an op, each time that its block runs; 0 if it has none."""
        layers = [each for each in op.walk() if is_computed_on_buffers(each)]
        cycles = sum(self.cycles(each) * self.runs(each, op) for each in layers)
        return max(int(bool(layers)), ceil(cycles))

    def moved_in(self, op: Operation) -> int:
        """Cycles of the transfers in an op, each time that its block runs."""
        return self.summed(op, self.moving)

    def data_in(self, op: Operation) -> int:
        """Cycles for which their data have the bus."""
        return self.summed(op, self.data)

    def summed(self, op: Operation, cycles: Callable[[StartOp], int]) -> int:
        """The cycles of all transfers in an op."""
        starts = (each for each in op.walk() if isinstance(each, StartOp))
        return ceil(sum(cycles(each) * self.runs(each, op) for each in starts))

    def runs(self, inner: Operation, op: Operation) -> float:
        """How often an op runs in one run of another one around it."""
        if self.times is None or inner is op:
            return 1
        around = self.times.get(block_of(op), 0)
        return self.times.get(block_of(inner), 0) / around if around else 0

    def cycles(self, layer: Operation) -> int:
        """Cycles of a layer; 1 if nobody says how long it takes."""
        if self.rates is None or self.times is None:
            return 1
        try:
            task = task_of(layer, self.rates)
        except NotTimed:
            return 1
        return 1 if task is None else task.cycles(self.rates)

    def moving(self, start: StartOp) -> int:
        """Cycles of a transfer; 1 if they depend on the data."""
        moved = self.moved(start)
        if self.rates is None or moved is None:
            return 1
        return self.rates.latency(moved.runs) + self.rates.data(moved.bytes)

    def data(self, start: StartOp) -> int:
        """Cycles for which the data of a transfer have the bus; 0 if they depend on the data."""
        moved = self.moved(start)
        return 0 if self.rates is None or moved is None else self.rates.data(moved.bytes)

    def moved(self, start: StartOp) -> Moved | None:
        """What a transfer moves, if times are known and it does not depend on the data."""
        if self.rates is None or self.times is None:
            return None
        try:
            return moved_by(start)
        except NotTimed:
            return None

    def channels(self, block: Block) -> int:
        """The channels beside a block that runs once; 0 if it does not, or if nothing is known."""
        if self.rates is None or self.times is None or self.times.get(block) != 1:
            return 0
        return self.rates.channels


def block_of(op: Operation) -> Block:
    """The block of an op."""
    assert op.parent is not None
    return op.parent
