"""Which layers of a chain run row by row where maps can leave the chip: mathematics only.

A map between two layers stays on chip, or is written to memory off the chip and read again; inside
a run it does not exist. A run keeps its first IFM, its last OFM, one window of rows for each layer
and all parameters on chip; of a map off the chip it keeps its rows only. Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product

from npu_plans.rows.choose import LayerRun


@dataclass(frozen=True)
class ChainMap:
    """A map of a chain.

    `full`: bytes on chip; `moved`: bytes of a transfer of it; `row`: bytes of one row; `outside`:
    whether it lies off the chip in any case, as an input or output of the network.
    """

    full: int
    moved: int
    row: int = 0
    outside: bool = False

    @property
    def places(self) -> tuple[bool, ...]:
        """Whether it may lie on chip (False), off the chip (True), or either."""
        return (True,) if self.outside else (False, True)


@dataclass(frozen=True)
class ChainLayer:
    """One layer of a chain.

    `window`: the rows of its input that it needs at once; `inner`: windows that it has inside;
    `weights`: all its parameters, `partial`: those that are on chip at one time when it runs by
    itself; `direct`: whether it can read a whole map in place, without a window; `in_place`:
    whether it can overwrite its input.
    """

    window: int
    inner: int = 0
    weights: int = 0
    partial: int = 0
    direct: bool = True
    in_place: bool = False


@dataclass(frozen=True)
class Chain:
    """Layers one behind the other, and the maps between them: one more than there are layers."""

    maps: Sequence[ChainMap]
    layers: Sequence[ChainLayer]

    def alone(self, index: int, *, ifm_off: bool, ofm_off: bool) -> int:
        """Bytes that a layer needs by itself; of maps off the chip, rows."""
        layer, ifm, ofm = self.layers[index], self.maps[index], self.maps[index + 1]
        if layer.in_place and not ifm_off and not ofm_off:
            return ifm.full + layer.partial
        bytes_in = layer.window if ifm_off else ifm.full
        return bytes_in + (ofm.row if ofm_off else ofm.full) + layer.partial

    def footprint(self, run: LayerRun, totals: Sequence[int]) -> int:
        """Bytes that a run needs, from `totals` of what layers keep beside their maps."""
        first, ifm, ofm = self.layers[run.first], self.maps[run.first], self.maps[run.last + 1]
        kept = totals[run.last + 1] - totals[run.first]
        if not ifm.outside:
            kept += ifm.full - (first.window if first.direct else 0)
        return kept + (ofm.row if ofm.outside else ofm.full)

    def totals(self) -> list[int]:
        """Sums of what the first 0, 1, 2, ... layers of a run keep beside their maps."""
        kept = (layer.window + layer.inner + layer.weights for layer in self.layers)
        return [0, *accumulate(kept)]


Cost = tuple[int, int, int]
"""Bytes moved, the largest need, layers in runs."""

State = tuple[int, bool]
"""A map of the chain, and whether it lies off the chip."""


@dataclass(frozen=True)
class Way:
    """The best way up to a state: its cost, and the state that its last step starts from."""

    cost: Cost
    before: State | None = None


@dataclass(frozen=True)
class Transition:
    """Layers from one state to another: one by itself, or a run."""

    start: State
    end: State
    cost: Cost

    def behind(self, way: Way) -> Way:
        """The way that this step lengthens."""
        moved, peak, fused = way.cost
        return Way(
            (moved + self.cost[0], max(peak, self.cost[1]), fused + self.cost[2]), self.start
        )


def least_traffic(chain: Chain, sram: int) -> list[LayerRun]:
    """The runs with which the least is moved; none if no run moves less.

    Among those, the runs with the smallest need, then with the fewest layers. Dynamic programming
    over where steps end and whether the map there is off the chip. A run starts and ends with maps
    on chip or outside: off the chip, others are for single layers only.
    """
    alone, fused = list(layer_steps(chain, sram)), list(run_steps(chain, sram))
    without, _ = cheapest(chain, alone)
    cost, runs = cheapest(chain, [*alone, *fused])
    return runs if cost[0] < without[0] else []


def layer_steps(chain: Chain, sram: int) -> Iterator[Transition]:
    """Layers by themselves: what is off the chip is moved, and all else must fit.

    A layer with both maps off the chip works on tiles of any size.
    """
    for index in range(len(chain.layers)):
        ifm, ofm = chain.maps[index], chain.maps[index + 1]
        for ifm_off, ofm_off in product(ifm.places, ofm.places):
            need = chain.alone(index, ifm_off=ifm_off, ofm_off=ofm_off)
            if need <= sram or (ifm_off and ofm_off):
                moved = ifm.moved * ifm_off + ofm.moved * ofm_off
                yield Transition(
                    (index, ifm_off), (index + 1, ofm_off), (moved, min(need, sram), 0)
                )


def run_steps(chain: Chain, sram: int) -> Iterator[Transition]:
    """Runs of two layers or more that fit."""
    totals = chain.totals()
    for first in range(len(chain.layers)):
        for last in range(first + 1, len(chain.layers)):
            run = LayerRun(first, last)
            need = chain.footprint(run, totals)
            if need > sram:
                continue
            ifm, ofm = chain.maps[first], chain.maps[last + 1]
            moved = ifm.moved * ifm.outside + ofm.moved * ofm.outside
            yield Transition((first, ifm.outside), (last + 1, ofm.outside), (moved, need, len(run)))


def cheapest(chain: Chain, steps: Sequence[Transition]) -> tuple[Cost, list[LayerRun]]:
    """The least cost from the first map to the last, and its runs.

    A map at the end of the chain that leaves the chip is moved once more, by what is there.
    """
    first, last = chain.maps[0], chain.maps[-1]
    ways = {
        (0, off): Way((first.moved * (off and not first.outside), 0, 0)) for off in first.places
    }
    for step in sorted(steps, key=lambda each: each.end):
        if step.start in ways:
            way = step.behind(ways[step.start])
            known = ways.get(step.end)
            if known is None or way.cost < known.cost:
                ways[step.end] = way

    def total(off: bool) -> Cost:
        moved, peak, fused = ways[len(chain.layers), off].cost
        return moved + last.moved * (off and not last.outside), peak, fused

    ends = [off for off in last.places if (len(chain.layers), off) in ways]
    end = min(ends, key=total)
    return total(end), runs_before(ways, (len(chain.layers), end))


def runs_before(ways: dict[State, Way], state: State) -> list[LayerRun]:
    """The runs on the best way up to a state."""
    runs: list[LayerRun] = []
    while (before := ways[state].before) is not None:
        if state[0] - before[0] > 1:
            runs.append(LayerRun(before[0], state[0] - 1))
        state = before
    return runs[::-1]
