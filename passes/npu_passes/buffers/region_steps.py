"""The steps that a place in the loops of a region runs in, and the steady ones among all steps.

    steps   0 1 2 | 3 4   5 6   7 8   9 10 | 11 12       two steps in each round of the steady loop
            first | steady                 | last

In the steady steps every layer computes a row whenever it is its turn, no row is padding, and each
ring is full. So all choices are known there, and its loop can be one without any (`npu.rows` with
`npu.double_buffer`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

from npu_dialect.npu.row_regions import RegionMap
from npu_passes.support.loop_builder import Index, LoopBuilder

FEWEST_ROUNDS = 3
"""With fewer rounds, a loop of its own for the steady steps gains little."""


@dataclass(frozen=True)
class Steps:
    """The steps of one place in a loop: in round `index` of the loop it runs in `steps[index]`.

    `steady`: whether all of them are steady.
    """

    index: Index
    steps: range
    steady: bool = False

    def row(self, b: LoopBuilder, found: RegionMap) -> Index:
        """The row of a map that is put into its ring in a steady step."""
        time = found.time
        ahead = (self.steps.start - time.delay) // time.period
        return b.add(b.mul(self.index, self.steps.step // time.period), ahead, "row")

    def rows(self, found: RegionMap) -> range:
        """The rows of a map that are put into its ring in the steps."""
        time, (first, last) = found.time, found.steps
        low, high = max(first, self.steps.start), min(last, self.steps[-1])
        if not self.steady:
            return range(-(-(low - time.delay) // time.period), time.last(high) + 1)
        if (self.steps.start - time.delay) % time.period:
            return range(0)
        by = self.steps.step // time.period
        return range(time.last(low), time.last(high) + 1, by)


def steady_steps(maps: Iterable[RegionMap]) -> range | None:
    """The first step of each round of a region's steady steps; None if there are few.

    A round has as many steps as the maps' periods have as their least common multiple.
    """
    found = list(maps)
    period = lcm(*(each.time.period for each in found))
    first = max(each.time.step(max(each.unmoved, each.late + (each.late > 0))) for each in found)
    stop = min(each.time.step(min(each.computed, each.end)) for each in found)
    rounds = (stop - first) // period
    return range(first, first + rounds * period, period) if rounds >= FEWEST_ROUNDS else None
