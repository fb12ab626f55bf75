"""Plans a depthwise convolution channel by channel, over patches of 16 bytes. No IR.

A *patch* is four rows by four columns of one channel. It holds the windows of two by two outputs of
a kernel of three by three, so each output is one sum of products of 16 bytes, with its own weights.
A working memory holds the last four rows of a channel, four bytes a column:

    byte of a column        0    1    2    3
    row of the patch        2    0    3    1

When two rows more are gathered, they become bytes 0 and 2, and what was there moves to bytes 1 and
3. So each byte of the map is gathered once, and outputs may overwrite the map. Columns of padding
stay the zero point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis

TAPS = 3
"""The most taps of a kernel along an axis."""
SIDE = 4
"""Rows and columns of a patch."""
TWO = 2
"""Rows and columns of the outputs of a patch, and rows that are gathered together."""
HALVES = SIDE // 2
"""Elements of 16 bits of a column."""
BYTE_OF_ROW = (1, 3, 0, 2)
"""The byte of a column for each row of a patch."""
LEAST_OUTPUTS = 20
"""The fewest outputs of a channel that are worth the code in front of them."""
CHANNEL = 80
"""Instructions of a channel: what it needs, and its first rows."""
EIGHT = 36
"""Instructions of four columns of two rows: their elements, and their eight outputs."""
FARTHEST = 1 << 16
"""The distance of bytes that are gathered or stored together is below this."""


def holds_windows(axis: Axis) -> bool:
    """Whether patches hold the windows of an axis, and each of these has taps on the map."""
    return (
        axis.kernel <= TAPS
        and (axis.dilation == 1 or axis.kernel == 1)
        and max(axis.before, axis.after) < axis.kernel
        and min(axis.size, axis.outputs) > 0
    )


@dataclass(frozen=True)
class PatchPlan:
    """Where the columns of a channel lie in a working memory; `rows` and `columns` are the axes."""

    rows: Axis
    columns: Axis

    @staticmethod
    def fits(rows: Axis, columns: Axis) -> bool:
        """Whether patches hold the windows, which move by one and have taps on the map."""
        return all(
            holds_windows(axis) and (axis.stride == 1 or axis.outputs == 1)
            for axis in (rows, columns)
        )

    @property
    def pays(self) -> bool:
        """Whether there are enough outputs and taps."""
        full = self.rows.kernel == self.columns.kernel == TAPS
        return full and self.rows.outputs * self.columns.outputs >= LEAST_OUTPUTS

    @property
    def elements(self) -> int:
        """Elements of 16 bits of the working memory."""
        read = -(-self.columns.outputs // TWO) * TWO + TWO
        return HALVES * max(read, self.columns.before + self.columns.size)

    def total(self, filters: int) -> int:
        """The instructions of a channel with some filters, about."""
        return CHANNEL + filters * self.pairs * EIGHT * -(-self.columns.outputs // SIDE)

    def new_rows(self, pair: int) -> tuple[int, int]:
        """The two rows of the map that are gathered for a pair of rows of outputs.

        Pair -1 stands for what is gathered in front of all pairs. Rows may lie outside of the map.
        """
        first = TWO * pair + TWO - self.rows.before
        return first, first + 1

    def is_row(self, row: int) -> bool:
        """Whether a row lies on the map."""
        return 0 <= row < self.rows.size

    @property
    def pairs(self) -> int:
        """The pairs of rows of outputs; the last one may have one row."""
        return -(-self.rows.outputs // TWO)

    @property
    def whole(self) -> int:
        """The first pairs whose new rows lie on the map, and which have two rows of outputs."""
        pairs = range(self.rows.outputs // TWO)
        return sum(self.is_row(self.new_rows(pair)[1]) for pair in pairs)


def pack_patches(weights: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights [channels, rows, columns] of at most three by three, as bytes of patches.

    Behind four zeros lie for each channel 32 bytes: those for the outputs of the upper row, then
    those for the lower one, each three columns and a column of zeros. Read from a column before,
    they are those of the right outputs.
    """
    channels, rows, columns = weights.shape
    packed = np.zeros((channels, TWO, SIDE, SIDE), np.int8)
    for lower in range(TWO):
        for row in range(rows):
            packed[:, lower, :columns, BYTE_OF_ROW[row + lower]] = weights[:, row]
    return np.concatenate([np.zeros(SIDE, np.int8), packed.ravel()])


def weights_at(lower: int, right: int) -> int:
    """The first byte of a channel's weights for an output of a patch."""
    return SIDE + lower * SIDE * SIDE - right * SIDE


def gathered(pixel: int, line: int) -> list[int]:
    """The distances of what is gathered: of each of four columns the two rows."""
    return [row * line + column * pixel for column in range(SIDE) for row in range(TWO)]


def lanes_of(columns: int, rows: tuple[bool, bool]) -> int:
    """The mask of the lanes of some columns, and of the rows that lie on the map."""
    two = sum(1 << row for row, inside in enumerate(rows) if inside)
    return sum(two << TWO * column for column in range(columns))


def stored(pixel: int, line: int) -> list[int]:
    """The distances of the outputs of two patches side by side: even lanes, and odd lanes."""
    return [
        lower * line + (TWO * patch + right) * pixel
        for lower in range(TWO)
        for right in range(TWO)
        for patch in range(TWO)
    ]


def lanes_stored(columns: int, rows: int) -> int:
    """The mask of the outputs that exist, of up to four columns and two rows."""
    places = [
        (lower, TWO * patch + right)
        for lower in range(TWO)
        for right in range(TWO)
        for patch in range(TWO)
    ]
    return sum(1 << i for i, (row, column) in enumerate(places) if row < rows and column < columns)
