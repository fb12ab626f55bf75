"""Buffers that are filled slice by slice: the bytes in use and the free bytes at a program point.

|---- %all, first half in use ----|      size 100, in use 50: another buffer may lie on the
|--- slice 0 ---|.... free .......|      second half until a slice is written there
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from npu_plans.arena.problem import Buffer, Overlay

Filling: TypeAlias = Sequence[tuple[int, int, int]]
"""How a buffer is filled: (program point, start, end) in order of time.

From that point on, the bytes from `start` to `end` (excluded) are in use. Empty: the buffer is in
use as a whole."""


@dataclass(frozen=True)
class Occupancy:
    """The buffers of a function, the filling of each one, and the pairs that may overlap."""

    buffers: tuple[Buffer, ...]
    fillings: tuple[Filling, ...]
    overlays: tuple[Overlay, ...] = ()


def overlays(buffers: Sequence[Buffer], fillings: Sequence[Filling]) -> Iterator[Overlay]:
    """Pairs of a buffer that is filled in slices and one that dies before the first one is full.

    The other buffer may lie behind or in front of the bytes that are in use when it dies.
    """
    for index, filling in enumerate(fillings):
        size = buffers[index].size
        if all(end - start >= size for _, start, end in filling):
            continue
        for number, other in enumerate(buffers):
            if other.last < buffers[index].first or other.first > buffers[index].last:
                continue
            if number == index:
                continue
            start, end = in_use(size, filling, other.last)
            if end < size:
                yield Overlay(index, number, end)
            if start > 0:
                yield Overlay(number, index, other.size - start)


def in_use(size: int, filling: Filling, point: int) -> tuple[int, int]:
    """First byte and end (excluded) of the part of a buffer that is in use at a program point.

    `size` is the size of the whole buffer in bytes.
    """
    slices = [(start, end) for at, start, end in filling if at <= point] if filling else [(0, size)]
    starts, ends = [start for start, _ in slices], [end for _, end in slices]
    return min(starts, default=0), max(ends, default=0)


def floor(buffers: Sequence[Buffer], fillings: Sequence[Filling], rows: Sequence[Overlay]) -> int:
    """The largest sum of bytes in use at one program point: no plan needs fewer.

    Of each pair in `rows`, whose buffers may share memory row by row, only the larger one counts.
    """
    most, live = 0, list[int]()
    points = {buffer.first for buffer in buffers} | {at for each in fillings for at, _, _ in each}
    coming = sorted(range(len(buffers)), key=lambda i: buffers[i].first, reverse=True)
    for point in sorted(points):
        while coming and buffers[coming[-1]].first <= point:
            live.append(coming.pop())
        live = [i for i in live if buffers[i].last >= point]
        spans = {i: in_use(buffers[i].size, fillings[i], point) for i in live}
        used = {i: end - start for i, (start, end) in spans.items()}
        shared = [min(used.get(each.below, 0), used.get(each.above, 0)) for each in rows]
        most = max(most, sum(used.values()) - sum(shared))
    return most
