"""Plans pointwise layers of few channels whose pixels stay in vector registers. No IR.

Four vectors hold some neighbouring pixels, and all filters multiply them, one after the other. So a
pixel is loaded once, where pairs of pixels are loaded again for each two filters.

    8 channels      a vector is two pixels: weights stand in front of zeros, or behind them
    9 to 16         a vector is a pixel
    17 to 32        two vectors are
    33 to 64        three or four are

Eight outputs are requantised together: of one, two, four or eight filters. A vector of four has
four pixels of a filter if there are as many, else four filters of a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from npu_plans.kernels.gathers import BYTES, EIGHT, FOUR
from npu_plans.kernels.sixteen_plan import is_worth

KEPT = 4
"""Vectors of pixels. With weights, two vectors of outputs, and places these fill the registers."""
LEAST = 8
"""The fewest channels. Windows of fewer are gathered."""

SAVED = 2
"""Instructions that an output saves at least."""

Output: TypeAlias = tuple[int, int]
"""A pixel of a block, and a filter of those that are computed together."""


@dataclass(frozen=True)
class PixelPlan:
    """How pixels of `channels` bytes that lie `pitch` bytes apart are multiplied."""

    channels: int
    pitch: int

    @property
    def fits(self) -> bool:
        """Whether four vectors hold a pixel or more."""
        return LEAST <= self.channels <= KEPT * BYTES

    def pays(self, windows: int) -> bool:
        """Whether zeros behind the weights are worth their flash, with so many pixels."""
        return self.fits and is_worth(SAVED * windows, self.padding)

    @property
    def is_paired(self) -> bool:
        """Whether a vector holds two pixels."""
        return self.channels == self.pitch == BYTES // 2

    @property
    def parts(self) -> int:
        """The vectors of a pixel."""
        return -(-self.channels // BYTES)

    @property
    def pixels(self) -> int:
        """The pixels of a block."""
        return EIGHT if self.is_paired else KEPT // self.parts

    @property
    def filters(self) -> int:
        """The filters that are computed together."""
        return EIGHT // self.pixels

    @property
    def turns(self) -> int:
        """How often eight outputs are computed in a turn of the loop over filters."""
        return 2 if self.pixels >= FOUR else 1

    def fours(self, count: int) -> list[list[Output]]:
        """The outputs of each vector for some filters, at most `filters`.

        Where four filters are lanes, the last ones may not exist.
        """
        if self.pixels >= FOUR:
            starts = range(0, self.pixels, FOUR)
            return [
                [(first + lane, filter) for lane in range(FOUR)]
                for filter in range(count)
                for first in starts
            ]
        return [
            [(pixel, first + lane) for lane in range(FOUR)]
            for first in range(0, count, FOUR)
            for pixel in range(self.pixels)
        ]

    @property
    def padding(self) -> int:
        """The zeros that stand behind the weights of a filter."""
        return -self.channels % BYTES

    @property
    def lead(self) -> int:
        """The zeros in front of all weights: those of a filter that is multiplied from there on."""
        return self.padding if self.is_paired else 0

    @property
    def loads(self) -> list[int]:
        """The first byte of each vector, counted from the first pixel."""
        if self.is_paired:
            return [BYTES * each for each in range(KEPT)]
        parts = range(self.parts)
        return [self.pitch * each + BYTES * part for each in range(self.pixels) for part in parts]

    def weights(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """For each vector of weights, its first byte, and the pixels and vectors that take it.

        The byte is counted from the first weight of the filter.
        """
        if self.is_paired:
            return [
                (-self.lead * odd, [(pixel, pixel // 2) for pixel in range(odd, self.pixels, 2)])
                for odd in (0, 1)
            ]
        return [
            (BYTES * part, [(each, each * self.parts + part) for each in range(self.pixels)])
            for part in range(self.parts)
        ]
