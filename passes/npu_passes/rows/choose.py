"""Which layers of a chain run row by row: mathematics only.

A run of layers keeps its first IFM, its last OFM, and one window of rows for each layer between.
Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """One layer of a chain.

    `ifm`, `ofm`: its maps as a whole; `window`: the rows of its input that it needs at once;
    `inner`: windows that it has inside; `weights`: its parameters, where they must be on chip;
    `direct`: whether it can read a whole map in place, without a window.
    """

    ifm: int
    ofm: int
    window: int
    inner: int = 0
    weights: int = 0
    direct: bool = True

    @property
    def alone(self) -> int:
        """What the layer needs when it runs by itself."""
        return self.ifm + self.ofm + self.weights


@dataclass(frozen=True)
class Run:
    """Layers `first` to `last` of a chain, both included, that run row by row."""

    first: int
    last: int

    def __len__(self) -> int:
        """Number of layers."""
        return self.last - self.first + 1

    def footprint(self, chain: Sequence[Link]) -> int:
        """Bytes that the run needs on chip."""
        links = chain[self.first : self.last + 1]
        windows = sum(link.window + link.inner for link in links)
        if links[0].direct:
            windows -= links[0].window
        return links[0].ifm + links[-1].ofm + windows + sum(link.weights for link in links)


def whole(chain: Sequence[Link]) -> list[Run]:
    """The whole chain as one run."""
    return [Run(0, len(chain) - 1)] if len(chain) > 1 else []


def needed(chain: Sequence[Link], sram: int) -> list[Run]:
    """As few layers as possible, so that every layer that does not fit alone fits in its run.

    A run starts with one layer that does not fit. It grows by the neighbour that leaves the smaller
    footprint until it fits; runs that meet become one. A run that cannot fit is left as large as
    its smallest footprint wants.
    """
    runs: list[Run] = []
    for index, link in enumerate(chain):
        if link.alone <= sram or (runs and runs[-1].last >= index):
            continue
        run = grown(chain, Run(index, index), sram)
        while runs and runs[-1].last >= run.first:
            run = grown(chain, Run(min(runs.pop().first, run.first), run.last), sram)
        if len(run) > 1:
            runs.append(run)
    return runs


def grown(chain: Sequence[Link], run: Run, sram: int) -> Run:
    """A run that has grown until it fits, or the smallest one on the way to the whole chain."""
    best = run
    while run.footprint(chain) > sram:
        wider = [
            Run(run.first - 1, run.last) if run.first else None,
            Run(run.first, run.last + 1) if run.last + 1 < len(chain) else None,
        ]
        choices = [each for each in wider if each is not None]
        if not choices:
            return best
        run = min(choices, key=lambda each: each.footprint(chain))
        best = min(best, run, key=lambda each: each.footprint(chain))
    return run
