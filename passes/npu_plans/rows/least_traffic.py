"""Chooses the layers of a chain that run row by row if maps can leave the chip. No IR.

A map between two layers stays on chip, or is written to off-chip memory and read again. Inside a
run it does not exist. A run holds on chip its first IFM, its last OFM, one window of rows for each
layer, and all parameters; of an off-chip map it holds only some rows. All sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product

from npu_plans.rows.choose import LayerRun


@dataclass(frozen=True)
class ChainMap:
    """A map of a chain.

    `full`: its bytes on chip; `moved`: the bytes of one transfer of the map; `row`: the bytes of
    one row; `outside`: whether it always lies off chip, as an input or output of the network.
    """

    full: int
    moved: int
    row: int = 0
    outside: bool = False

    @property
    def places(self) -> tuple[bool, ...]:
        """The places that it may have: on chip (False), off chip (True), or both."""
        return (True,) if self.outside else (False, True)


@dataclass(frozen=True)
class ChainLayer:
    """One layer of a chain.

    Bytes of: `window`: the rows of its input that it needs at once; `inner`: row windows inside the
    layer; `weights`: all its parameters; `partial`: the parameters that are on chip at one time
    when it runs by itself. `direct`: whether it can read a whole map in place, without a window.
    `in_place`: whether it can overwrite its input.
    """

    window: int
    inner: int = 0
    weights: int = 0
    partial: int = 0
    direct: bool = True
    in_place: bool = False


@dataclass(frozen=True)
class Chain:
    """Consecutive layers and their maps: layer i reads map i and writes map i + 1."""

    maps: Sequence[ChainMap]
    layers: Sequence[ChainLayer]

    def alone(self, index: int, *, ifm_off: bool, ofm_off: bool) -> int:
        """Bytes on chip of a layer that runs by itself; of an off-chip map only rows count."""
        layer, ifm, ofm = self.layers[index], self.maps[index], self.maps[index + 1]
        if layer.in_place and not ifm_off and not ofm_off:
            return ifm.full + layer.partial
        bytes_in = layer.window if ifm_off else ifm.full
        return bytes_in + (ofm.row if ofm_off else ofm.full) + layer.partial

    def footprint(self, run: LayerRun, totals: Sequence[int]) -> int:
        """Bytes that a run needs on chip, from `totals()`."""
        first, ifm, ofm = self.layers[run.first], self.maps[run.first], self.maps[run.last + 1]
        kept = totals[run.last + 1] - totals[run.first]
        if not ifm.outside:
            kept += ifm.full - (first.window if first.direct else 0)
        return kept + (ofm.row if ofm.outside else ofm.full)

    def totals(self) -> list[int]:
        """Bytes of windows and weights of the first 0, 1, 2, ... layers of the chain, as sums."""
        kept = (layer.window + layer.inner + layer.weights for layer in self.layers)
        return [0, *accumulate(kept)]


Cost = tuple[int, int, int]
"""Bytes moved off or on chip, the peak in bytes, and the number of layers in runs."""

State = tuple[int, bool]
"""The position of a map in the chain, and whether it lies off chip."""


@dataclass(frozen=True)
class Way:
    """The cheapest path to a state: its cost, and the state before its last step."""

    cost: Cost
    before: State | None = None


@dataclass(frozen=True)
class Transition:
    """One layer by itself, or a run, that leads from one state to another."""

    start: State
    end: State
    cost: Cost

    def behind(self, way: Way) -> Way:
        """The path that extends `way` by this step."""
        moved, peak, fused = way.cost
        return Way(
            (moved + self.cost[0], max(peak, self.cost[1]), fused + self.cost[2]), self.start
        )


def least_traffic(chain: Chain, sram: int) -> list[LayerRun]:
    """The runs that move the fewest bytes; none if runs move no fewer bytes than single layers.

    Of several solutions, the one with the smallest peak, then with the fewest layers in runs. It is
    dynamic programming over the end of each step and the place of the map there. The first and the
    last map of a run are on chip unless they are `outside`; only single layers use other off-chip
    maps.
    """
    alone = list(layer_steps(chain, sram))
    without, _ = cheapest(chain, alone)
    if without[0] == sum(end.moved for end in (chain.maps[0], chain.maps[-1]) if end.outside):
        return []  # only what has to be moved is moved
    cost, runs = cheapest(chain, [*alone, *run_steps(chain, sram)])
    return runs if cost[0] < without[0] else []


def layer_steps(chain: Chain, sram: int) -> Iterator[Transition]:
    """Steps of one layer, for each place of its two maps.

    Off-chip maps are moved; the bytes on chip must fit into `sram` bytes.
    A layer with both maps off chip is always possible, as its tiles can be small enough.
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
    """Steps that are runs of at least two layers and fit into `sram` bytes."""
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
    """The least cost of a path from the first map to the last, and its runs.

    If the first or last map of the chain is off chip but not `outside`, it is moved once more, by
    the layer before or after the chain.
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
    """The runs on the cheapest path to a state, in order."""
    runs: list[LayerRun] = []
    while (before := ways[state].before) is not None:
        if state[0] - before[0] > 1:
            runs.append(LayerRun(before[0], state[0] - 1))
        state = before
    return runs[::-1]
