"""How kernels of floats on vectors share work: blocks of filters and pixels, and strips. No IR.

A tap of a block takes a load for each vector of weights, a load for each pixel, and a fused
multiply-add for each pair of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from npu_dialect.windows import Axis

LANES = 4
"""Floats in a vector."""
SUMS = 6
"""The most vectors of sums in a block. Two of the eight registers hold weights."""
PIXELS = 3
"""Outputs of a depthwise layer that are computed together, of four channels."""
MOST_PIXELS = 5
"""The most outputs of a row that are computed together if these are all. Then nothing is stored
before the row is read, so the output can follow its dying input more closely."""
BETWEEN = 2
"""Instructions that a block takes besides, for each tap: its share of loops and addresses."""


@dataclass(frozen=True)
class VectorBlock:
    """A block of `vectors` vectors of filters by `pixels` neighbouring pixels."""

    vectors: int
    pixels: int

    def blocks(self, filters: int) -> list[int]:
        """The vectors of each block of filters, one behind the other."""
        whole, rest = divmod(-(-filters // LANES), self.vectors)
        return [self.vectors] * whole + ([rest] if rest else [])

    def instructions(self, filters: int, width: int) -> int:
        """The instructions that a tap takes, for all filters of `width` pixels."""
        whole, rest = divmod(width, self.pixels)
        widths = [self.pixels] * whole + ([rest] if rest else [])
        return sum(v + p + v * p + BETWEEN for v in self.blocks(filters) for p in widths)


def vector_block(filters: int, width: int) -> VectorBlock:
    """The block with the fewest instructions for `width` pixels side by side."""
    shapes = [
        VectorBlock(vectors, pixels)
        for vectors in range(1, SUMS + 1)
        for pixels in range(1, SUMS // vectors + 1)
    ]
    return min(shapes, key=lambda block: (block.instructions(filters, width), block.vectors))


@dataclass(frozen=True)
class Strip:
    """Neighbouring outputs of a row: which elements of a row of the map each of them reads.

    `starts` are the places of their first taps, `taps` the half-open ranges of their taps that lie
    on the map. Places are counted from `origin`, the first element that one of them reads: a column
    of the map, or if the columns of the outputs are not known, the first tap of the first output.
    """

    origin: int
    starts: tuple[int, ...]
    taps: tuple[tuple[int, int], ...]
    dilation: int

    @staticmethod
    def of(axis: Axis, column: int | None, steps: Sequence[int]) -> Strip:
        """The outputs at `column + step` for each of some steps.

        If the column is not known, padding must cut no window, and the first step must be 0.
        """
        if column is None:
            starts = tuple(step * axis.stride for step in steps)
            return Strip(0, starts, ((0, axis.kernel),) * len(starts), axis.dilation)
        firsts = [axis.start(column + step) for step in steps]
        taps = tuple(axis.taps(column + step) for step in steps)
        read = [s + low * axis.dilation for s, (low, high) in zip(firsts, taps) if low < high]
        origin = min(read, default=0)
        return Strip(origin, tuple(first - origin for first in firsts), taps, axis.dilation)

    @property
    def reach(self) -> int:
        """Elements from the first to the last one that is read, both included; 0 if none is."""
        return max((place + 1 for place, _, _ in self.reads()), default=0)

    def reads(self) -> list[tuple[int, int, int]]:
        """Which output multiplies an element with which tap: (place, output, tap), ordered."""
        return sorted(
            (start + tap * self.dilation, output, tap)
            for output, (start, taps) in enumerate(zip(self.starts, self.taps, strict=True))
            for tap in range(*taps)
        )

    def products(self, room: int) -> list[list[Product]]:
        """The products of each element that is read, if only `room` weights are in registers.

        The weights that are there come first. One that is loaded replaces the one that is needed
        again last.
        """
        places = [list(reads) for _, reads in groupby(self.reads(), key=itemgetter(0))]
        held: list[int] = []
        found: list[list[Product]] = []
        for number, reads in enumerate(places):
            found.append([])
            left = sorted(reads, key=lambda read: read[2] not in held)
            for index, (place, output, tap) in enumerate(left):
                fresh = tap not in held
                if fresh and len(held) == room:
                    coming = [
                        *left[index:],
                        *(each for some in places[number + 1 :] for each in some),
                    ]
                    held.remove(max(held, key=lambda each: next_use(each, coming)))
                if fresh:
                    held.append(tap)
                found[-1].append(Product(place, output, tap, fresh))
        return found


@dataclass(frozen=True)
class Product:
    """An element of a strip times a weight; `fresh`: this weight is loaded for it."""

    place: int
    output: int
    tap: int
    fresh: bool


def next_use(tap: int, coming: Sequence[tuple[int, int, int]]) -> int:
    """How many products come before the next one with a weight."""
    uses = (index for index, (_, _, each) in enumerate(coming) if each == tap)
    return next(uses, len(coming))
