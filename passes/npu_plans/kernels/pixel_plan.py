"""Plans pointwise layers of few channels whose pixels stay in vector registers. No IR.

Four vectors hold some neighbouring pixels, and all filters multiply them, one after the other. So a
pixel is loaded once, where pairs of pixels are loaded again for each two filters.

    8 channels      a vector is two pixels: weights stand in front of zeros, or behind them
    9 to 16         a vector is a pixel
    17 to 32        two vectors are
    33 to 64        three or four are

Eight outputs are requantised together: of one, two, four or eight filters. A vector of four has
four pixels of a filter if there are as many, else four filters of a pixel. Of pairs of pixels it
has the first ones, or the second ones, as the same weights are for these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.gathers import BYTES, EIGHT, FOUR
from npu_plans.kernels.packing import PAIR
from npu_plans.kernels.row_blocks import FARTHEST
from npu_plans.kernels.sixteen_plan import is_worth

KEPT = 4
"""Vectors of pixels. With weights, two vectors of outputs, and places these fill the registers."""
LEAST = 8
"""The fewest channels. Windows of fewer are gathered."""

WORD = 4
"""Bytes of a word."""
CONSTANTS = 2
"""The words of a filter besides its row."""
SAVED = 2
"""Instructions that an output saves at least."""

SAVED_BY_ROWS = 0.5
"""Instructions that an output saves for each vector, if rows of a table are multiplied."""
ROWS, OTHERS = 60, 100
"""Bytes of code that these take more, for a vector and besides, about."""

Output: TypeAlias = tuple[int, int]
"""A pixel of a block, and a filter of those that are computed together."""


@dataclass(frozen=True)
class PixelPlan:
    """How pixels of `channels` bytes that lie `pitch` bytes apart are multiplied.

    With `packs`, a block has two pixels at least, whose vectors are packed on the stack if there
    are more than stay in registers. `apart`: a block is a pair of pixels with vectors of their own,
    however few channels they have: four pixels of a filter have no residuals side by side, and a
    single pixel has no neighbour.
    """

    channels: int
    pitch: int
    packs: bool = False
    apart: bool = False

    @property
    def fits(self) -> bool:
        """Whether a pixel does not have too many vectors, or too few bytes."""
        return LEAST <= self.channels <= (FARTHEST if self.packs else KEPT) * BYTES

    def pays(self, windows: int) -> bool:
        """Whether zeros behind the weights are worth their flash, with so many pixels."""
        return self.fits and is_worth(SAVED * windows, self.padding)

    def has_rows(self, pixels: int, outputs: int) -> bool:
        """Whether pairs of pixels are multiplied with rows of a table (`row_blocks.py`).

        That takes more code, as all products are in one piece: also of a pixel without a neighbour.
        `outputs` are those of all `pixels`.
        """
        more = 0 if pixels == 1 else ROWS * self.parts + OTHERS
        return self.pixels == PAIR and is_worth(SAVED_BY_ROWS * self.parts * outputs, more)

    def takes_all(self, pixels: int, times: int) -> bool:
        """Whether all pixels are in blocks: of pairs a last one may be alone.

        `times`: how often each pixel is multiplied, in all runs of the layer's loops.
        """
        if self.pixels > PAIR:
            return pixels % self.pixels == 0
        return self.has_rows(pixels, pixels * times)

    @property
    def is_paired(self) -> bool:
        """Whether a vector holds two pixels."""
        return self.channels == self.pitch == BYTES // 2 and not self.apart

    @property
    def parts(self) -> int:
        """The vectors of a pixel."""
        return -(-self.channels // BYTES)

    @property
    def pixels(self) -> int:
        """The pixels of a block."""
        if self.is_paired:
            return EIGHT
        return PAIR if self.apart else max(PAIR if self.packs else 1, KEPT // self.parts)

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
            step = self.pixels // FOUR
            return [
                [(first + step * lane, filter) for lane in range(FOUR)]
                for filter in range(count)
                for first in range(step)
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

    def read(self, pixels: int) -> list[tuple[int, int | None]]:
        """The same for some pixels, each with how many bytes it has, or None for all of them."""
        rest = None if self.is_paired or not self.padding else BYTES - self.padding
        ends = [None] * (self.parts - 1) + [rest]
        return [(at, ends[number % self.parts]) for number, at in enumerate(self.loads)][
            : pixels * self.parts
        ]

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


@dataclass(frozen=True)
class PixelTable:
    """One table for all constants of filters, in words, if four lanes are pixels of one filter.

    A turn of the loop over filters has a block, which begins with the first value and the scale of
    each of its filters. Rows of 16 bytes follow, with the zeros in front of them that a plan for
    pairs of pixels needs:

        two filters, pairs of pixels    0                             4         6      8
                                        value, scale, value, scale    2 zeros   row    2 zeros ...
    """

    plan: PixelPlan

    @property
    def step(self) -> int:
        """The filters of a block."""
        return self.plan.filters * self.plan.turns

    @property
    def pitch(self) -> int:
        """The words of a filter, those in front of the rows included."""
        return self.size(self.step) // self.step

    def head(self, count: int) -> int:
        """The words of a block of `count` filters in front of its first row."""
        return CONSTANTS * count + self.plan.lead // WORD

    def size(self, count: int) -> int:
        """The words of a block."""
        return self.head(count) + count * BYTES // WORD

    def row(self, filter: int, count: int, first: int) -> int:
        """The word of a block at which a vector of weights begins, at byte `first` of a filter."""
        return self.head(count) + (filter * BYTES + first) // WORD

    def words(
        self, weights: NDArray[np.int8], biases: NDArray[Any], scales: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        """The words of all blocks; `weights` are [filters, channels], `scales` may be one."""
        rows = np.zeros((len(weights), BYTES), np.int8)
        rows[:, : weights.shape[1]] = weights
        bits = np.broadcast_to(scales.astype("<f4").view("<i4"), len(rows))
        pairs = np.stack([biases.astype(np.int32), bits], axis=1)
        lead = np.zeros(self.plan.lead // WORD, np.int32)
        found = list[NDArray[np.int32]]()
        for first in range(0, len(rows), self.step):
            block = slice(first, first + self.step)
            found += [pairs[block].ravel(), lead, rows[block].view("<i4").ravel()]
        return np.concatenate(found).astype(np.int32)
