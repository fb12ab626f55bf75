"""Chooses the layers of a chain that run row by row: numbers only, no IR.

A run of layers holds its first IFM, its last OFM, and for each map in between a window of rows. All
sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True)
class Link:
    """One layer of a chain.

    Bytes of: `ifm`, `ofm`: its whole maps; `window`: the rows of its input that it needs at once;
    `inner`: row windows inside the layer, as a fused pool has; `weights`: its parameters, 0 if they
    need not be on chip. `direct`: whether it can read a whole map in place, without a window.
    `source` is the identity of the IFM. `sides` are the bytes of the further maps that it reads.
    `in_place`: whether the OFM of the layer by itself overwrites one of these. `dies`: whether the
    IFM may be overwritten row by row. `behind`: how many bytes of it an OFM that does so overwrites
    must be read ahead; None if the OFM cannot.
    """

    ifm: int
    ofm: int
    window: int
    inner: int = 0
    weights: int = 0
    direct: bool = True
    source: Hashable = None
    sides: Mapping[Hashable, int] = field(default_factory=dict[Hashable, int])
    in_place: bool = False
    dies: bool = False
    behind: int | None = None

    @property
    def alone(self) -> int:
        """Bytes that the layer needs when it runs by itself."""
        ends = self.ifm if self.in_place else ends_of(self, self)
        return ends + sum(self.sides.values()) + self.weights


def ends_of(first: Link, last: Link) -> int:
    """Bytes of the IFM of one layer and the OFM of another, which may follow it in its memory."""
    if first.dies and last.behind is not None:
        return min(max(first.ifm, last.ofm) + last.behind, first.ifm + last.ofm)
    return first.ifm + last.ofm


@dataclass(frozen=True)
class LayerRun:
    """Layers `first` to `last` of a chain, both included, that run row by row."""

    first: int
    last: int

    def __len__(self) -> int:
        """Number of layers."""
        return self.last - self.first + 1


def whole(chain: Sequence[Link]) -> list[LayerRun]:
    """The whole chain as one run; none if it has fewer than two layers."""
    return [LayerRun(0, len(chain) - 1)] if len(chain) > 1 else []


def smallest_peak(chain: Sequence[Link]) -> list[LayerRun]:
    """The runs that minimise the peak, the most bytes that any layer or run needs.

    Of several solutions, the one that fuses the fewest layers. It is dynamic programming over the
    ends of runs, in time quadratic in the length of the chain. It is exact for this chain alone.
    """
    totals = running_totals(chain)
    best: list[tuple[int, int, int]] = [(0, 0, 0)]  # peak, fused layers, start of the last run
    for end in range(1, len(chain) + 1):
        choices: list[tuple[int, int, int]] = []
        for start in range(end):
            peak, fused, _ = best[start]
            run = LayerRun(start, end - 1)
            need = chain[start].alone if len(run) == 1 else footprint(chain, totals, run)
            choices.append((max(peak, need), fused + (len(run) if len(run) > 1 else 0), start))
        best.append(min(choices))
    runs: list[LayerRun] = []
    end = len(chain)
    while end:
        start = best[end][2]
        if end - start > 1:
            runs.append(LayerRun(start, end - 1))
        end = start
    return runs[::-1]


def running_totals(chain: Sequence[Link]) -> list[int]:
    """Bytes of windows and weights of the first 0, 1, 2, ... layers of the chain, as sums."""
    return [0, *accumulate(link.window + link.inner + link.weights for link in chain)]


def footprint(chain: Sequence[Link], totals: Sequence[int], run: LayerRun) -> int:
    """Bytes that a run needs on chip; `totals` are the `running_totals` of the chain."""
    start = chain[run.first]
    kept = totals[run.last + 1] - totals[run.first] - (start.window if start.direct else 0)
    sides: dict[Hashable, int] = {}
    for link in chain[run.first : run.last + 1]:
        sides |= link.sides
    sides.pop(start.source, None)
    return ends_of(start, chain[run.last]) + kept + sum(sides.values())


def needed(chain: Sequence[Link], sram: int) -> list[LayerRun]:
    """Runs of few layers in which each layer that does not fit alone fits into `sram` bytes.

    A run starts as one layer that does not fit, and grows by as few neighbours as make it fit. If
    no run around the layer fits, it is the one with the smallest footprint. Overlapping runs are
    merged.
    """
    totals = running_totals(chain)
    runs: list[LayerRun] = []
    for index, link in enumerate(chain):
        if link.alone <= sram or (runs and runs[-1].last >= index):
            continue
        run = smallest(chain, totals, LayerRun(index, index), sram)
        while runs and runs[-1].last >= run.first:
            both = LayerRun(min(runs.pop().first, run.first), run.last)
            run = smallest(chain, totals, both, sram)
        if len(run) > 1:
            runs.append(run)
    return runs


def smallest(chain: Sequence[Link], totals: Sequence[int], inner: LayerRun, sram: int) -> LayerRun:
    """The shortest run around `inner` that fits into `sram` bytes.

    If none fits, the run around `inner` with the smallest footprint.
    """
    best = inner
    for length in range(len(inner), len(chain) + 1):
        firsts = range(max(0, inner.last - length + 1), min(inner.first, len(chain) - length) + 1)
        runs = [LayerRun(first, first + length - 1) for first in firsts]
        best = min([best, *runs], key=lambda run: footprint(chain, totals, run))
        if footprint(chain, totals, best) <= sram:
            return best
    return best
