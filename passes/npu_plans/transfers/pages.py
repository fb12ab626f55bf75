"""Finds the first burst that crosses a page among bursts that loops repeat.

    LD of 64 bytes at 0x0fc0, repeated 9 times 1024 bytes apart     -> none
    LD of 64 bytes at 0x0fe0                                        -> crosses, at 4064 of its page

A series is not run round by round: all addresses of its rounds are computed at once, and along an
axis no more rounds than it takes to come back to the same place in a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

import numpy as np

PAGE = 4096
"""A burst on AXI must not cross a multiple of this number of bytes."""


@dataclass(frozen=True)
class Repeat:
    """`count` rounds: from one to the next, the address grows by `stride` bytes, and the number of
    instructions that have been executed by `steps`."""

    count: int
    stride: int
    steps: int


@dataclass(frozen=True)
class BurstSeries:
    """A burst of `size` bytes at `address`, after `step` instructions; the outermost loop first."""

    address: int
    size: int
    step: int
    repeats: tuple[Repeat, ...] = ()


def first_crossing(series: BurstSeries) -> tuple[int, int] | None:
    """The instructions before the first burst that crosses a page, and its place in its page."""
    size, grid = series.size, series.size & -series.size
    if size <= PAGE and grid == size:
        if not any(number % grid for number in (series.address, *strides_of(series))):
            return None
    places = np.array(series.address % PAGE, dtype=np.int64)
    steps = np.array(series.step, dtype=np.int64)
    for each in series.repeats:
        rounds = np.arange(min(each.count, PAGE // gcd(each.stride, PAGE)), dtype=np.int64)
        places = np.add.outer(places, rounds * each.stride) % PAGE
        steps = np.add.outer(steps, rounds * each.steps)
    crossing = np.flatnonzero(places.ravel() > PAGE - size)
    if not crossing.size:
        return None
    # The rounds of an outer loop come after those of the loops in its rounds before.
    first = crossing[0]
    return int(steps.ravel()[first]), int(places.ravel()[first])


def strides_of(series: BurstSeries) -> Iterable[int]:
    """The strides of the loops around a burst."""
    return (each.stride for each in series.repeats)
