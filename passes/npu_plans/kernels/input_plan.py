"""Whether an input pays to be put into the layout of the kernels, and how.

An input [C, P] of C channels and P pixels becomes [P, C]. There are two ways:

    a copy         into another map of the same size
    in place       lines of L pixels move to [P / L, C, L]; then each block [C, L] becomes [L, C] by
                   way of a block of its size

All numbers are instructions for each element of the map. They are assumptions, made from what
`bench/layers.py` counts for layers that read given maps, and for the same layers inside networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 4
"""The fewest pixels of a line."""


@dataclass(frozen=True)
class Core:
    """What a core takes and saves, in instructions an element.

    `copy`, `in_place`: what the two ways take. `pointwise`, `windows`: what is saved for each
    product of a convolution with one column, and of another one.
    """

    copy: float
    in_place: float
    pointwise: float
    windows: float


SCALAR = Core(copy=3, in_place=6, pointwise=0.2, windows=0.25)
VECTORS = Core(copy=1, in_place=3, pointwise=0.6, windows=0.1)


@dataclass(frozen=True)
class Reader:
    """A convolution that reads a map: products for each element, and columns of its kernel."""

    products: float
    columns: int

    def saved(self, core: Core) -> float:
        """What is saved for each element."""
        return self.products * (core.pointwise if self.columns == 1 else core.windows)


@dataclass(frozen=True)
class Given:
    """An input of C `channels` and P `pixels`, with the layers that read it faster then.

    `room` are the bytes beside it in front of its first reader, and `spare` those at the start of
    the function.
    """

    images: int
    channels: int
    pixels: int
    bytes: int
    room: int
    spare: int
    readers: Sequence[Reader]

    def line(self, core: Core) -> int | None:
        """The pixels of a line: all of them for a copy; None if no way pays or fits."""
        saved = sum(reader.saved(core) for reader in self.readers)
        if saved > core.copy and self.bytes <= self.room:
            return self.pixels
        if saved <= core.in_place or self.images > 1:
            return None
        element = self.bytes // (self.channels * self.pixels)
        fitting = (
            size
            for size in range(self.pixels // 2, LEAST - 1, -1)
            if self.pixels % size == 0 and (self.channels + 1) * size * element <= self.spare
        )
        return next(fitting, None)
