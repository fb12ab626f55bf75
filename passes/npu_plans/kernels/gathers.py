"""What kernels share that gather patches of 16 bytes of a channel from the map. No IR.

A patch is some rows by some columns, column by column. Two gathers take its even and its odd bytes.
No working memory is needed, and rows may be far apart. Rows and columns outside of the map are
gathered from its nearest ones. Outputs are requantised four by four, and stored eight by eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npu_dialect.windows import Axis

BYTES = 16
"""Bytes of a patch. Those behind its last element have weights of zero."""
FOUR = 4
"""Outputs that are requantised together."""
EIGHT = 2 * FOUR
"""The most outputs that are stored together."""
GATHERED = 4
"""Instructions of a patch: two gathers, one that joins them, and one for the address."""
REQUANTISED = 6
"""Instructions of four outputs: two that join their sums, and four that requantise them."""
STORED = 6
"""Instructions for what is stored together: it is made bytes, and scattered."""
INSTRUCTION = 4
"""Bytes of an instruction."""
FIRST = 4
"""Bytes of a first value."""

Place = tuple[int, int]
"""A row and a column."""


@dataclass(frozen=True)
class Side:
    """The rows or the columns of a patch: some elements in a row along an axis of the map.

    `first` is the nearest element of the map to the first one, counted from that. `steps` are
    counted from there. `outside` says which elements are not on the map.
    """

    first: int
    steps: tuple[int, ...]
    outside: tuple[bool, ...]

    @staticmethod
    def behind(axis: Axis, count: int) -> Side:
        """The elements behind one of padding, which stands in front of the map."""
        side = Side.of(axis, 0, count)
        return Side(side.first + 1, side.steps, side.outside)

    @staticmethod
    def of(axis: Axis, start: int | None, count: int) -> Side:
        """The elements from `start` on; None if all of them are on the map."""
        if start is None:
            return Side(0, tuple(range(count)), (False,) * count)
        wanted = range(start, start + count)
        nearest = [min(max(each, 0), axis.size - 1) for each in wanted]
        outside = tuple(not 0 <= each < axis.size for each in wanted)
        return Side(nearest[0] - start, tuple(each - nearest[0] for each in nearest), outside)


@dataclass(frozen=True)
class Block:
    """Outputs that are stored together: `columns` of each of one or two rows."""

    rows: int
    columns: int

    @property
    def fours(self) -> list[list[Place]]:
        """The rows and columns of the outputs of one or two vectors; the last one is repeated."""
        width = FOUR // self.rows
        groups = [
            [
                (row, column)
                for row in range(self.rows)
                for column in range(first, min(first + width, self.columns))
            ]
            for first in range(0, self.columns, width)
        ]
        return [group + group[-1:] * (FOUR - len(group)) for group in groups]

    def targets(self, pixel: int, line: int) -> list[int]:
        """The distances of what is stored: lanes of the first four, and of the last, by turns."""
        fours = self.fours
        pairs = zip(fours[0], fours[-1], strict=True)
        return [row * line + column * pixel for pair in pairs for row, column in pair]


def gathered(rows: Side, columns: Side, pixel: int, line: int) -> tuple[list[int], list[int]]:
    """The distances of the even and of the odd bytes of a patch, from its first one.

    What it lacks of 16 bytes is the last one again.
    """
    steps = [row * line + column * pixel for column in columns.steps for row in rows.steps]
    steps += steps[-1:] * (BYTES - len(steps))
    return steps[::2], steps[1::2]


def limits(pads: Sequence[bool], zero_point: int) -> tuple[list[int], list[int]]:
    """The greatest and the least value of each byte: padding is the zero point."""
    return [zero_point if pad else 127 for pad in pads], [
        zero_point if pad else -128 for pad in pads
    ]
