"""Plans a depthwise convolution over patches of 16 bytes that are gathered where they lie. No IR.

A *patch* is three rows by five columns of one channel, column by column. It holds the windows of
some neighbouring outputs of a row, of a kernel of up to three by three: three if they move by one
column, two if they move by two. Each output is one sum of products of the patch with its own
weights, which are those of the output before, moved by as many columns as the window.

    byte of the patch      0  1  2   3  4  5   6  7  8   9 10 11  12 13 14
    column, row            0  0  0   1  1  1   2  2  2   3  3  3   4  4  4
                           0  1  2   0  1  2   0  1  2   0  1  2   0  1  2

Two gathers take the even and the odd bytes. No working memory is needed, and rows may be far apart.
Rows and columns outside of the map are gathered from its nearest ones; their bytes then become the
zero point, if an output has taps there. One column in front of the map is not gathered: the patch
is gathered behind it, and the zero point is pushed in front.

Outputs are stored eight by eight: of one row, or four of each of two rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis
from npu_plans.kernels.patch_plan import TAPS, holds_windows

COLUMNS = 5
"""The columns of a patch."""
BYTES = 16
"""Bytes of a patch; the last one is no element of its own, and has weights of zero."""
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
CUT = 14
"""Instructions that a patch takes besides if padding cuts it: for constants, and their loads."""
PUSHED = 8
"""Instructions that push a column of padding into a patch."""
INSTRUCTION = 4
"""Bytes of an instruction."""
FIRST = 4
"""Bytes of a first value."""
LEAST_OUTPUTS = 10
"""The fewest outputs of a channel that are worth what it takes in front of them."""

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
    def of(axis: Axis, start: int | None, count: int) -> Side:
        """The elements from `start` on; None if all of them are on the map."""
        if start is None:
            return Side(0, tuple(range(count)), (False,) * count)
        wanted = range(start, start + count)
        nearest = [min(max(each, 0), axis.size - 1) for each in wanted]
        outside = tuple(not 0 <= each < axis.size for each in wanted)
        return Side(nearest[0] - start, tuple(each - nearest[0] for each in nearest), outside)

    @staticmethod
    def behind(axis: Axis, count: int) -> Side:
        """The elements behind one of padding, which stands in front of the map."""
        side = Side.of(axis, 0, count)
        return Side(side.first + 1, side.steps, side.outside)


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


@dataclass(frozen=True)
class WindowPlan:
    """Which patches hold the windows of a layer; `rows` and `columns` are its axes.

    With `single`, rows of outputs are computed one by one.
    """

    rows: Axis
    columns: Axis
    single: bool = False

    @staticmethod
    def fits(rows: Axis, columns: Axis) -> bool:
        """Whether patches hold the windows, and each of these has taps on the map."""
        return holds_windows(rows) and holds_windows(columns)

    @property
    def pays(self) -> bool:
        """Whether there are enough outputs and taps."""
        full = self.rows.kernel == self.columns.kernel == TAPS
        return full and self.rows.outputs * self.columns.outputs >= LEAST_OUTPUTS

    @property
    def across(self) -> int:
        """The outputs of a patch."""
        return (COLUMNS - TAPS) // self.columns.stride + 1

    @property
    def height(self) -> int:
        """The rows of outputs that are computed together: those with fewer instructions."""
        if self.single:
            return 1
        return 2 if self.rows.outputs > 1 and self.instructions(2) < 2 * self.instructions(1) else 1

    @property
    def pushes(self) -> bool:
        """Whether a column of padding in front of the map is pushed into patches.

        Not into those of a single row with a loop and steps of two, where gcc then takes 172
        instructions in place of 168 for 24 outputs, as it lacks registers for addresses.
        """
        first, behind = self.inside(EIGHT, EIGHT, across=True)
        alone = self.rows.outputs == 1 and self.columns.stride > 1 and first < behind
        return self.columns.before == 1 and not alone

    def can_overwrite(self, read: int, written: int) -> bool:
        """Whether outputs may lie on their input, which begins where they do, in single rows.

        A row of the map has `read` pixels, and one of the output `written`, gaps included. What is
        stored together must lie in front of all that is gathered later.
        """
        for row in range(self.rows.outputs):
            top, behind = (max(0, self.rows.start(each)) * read for each in (row, row + 1))
            for column in range(0, self.columns.outputs, EIGHT):
                following = column + EIGHT
                last = row * written + min(following, self.columns.outputs) - 1
                left = max(0, self.columns.start(following))
                if following < self.columns.outputs and last >= top + left:
                    return False
                if row + 1 < self.rows.outputs and last >= behind:
                    return False
        return True

    def width(self, rows: int) -> int:
        """The most outputs of each of some rows that are stored together."""
        return EIGHT // rows

    def total(self, filters: int) -> int:
        """The instructions of a channel with some filters, about. Each gathers its windows."""
        pairs, single = divmod(self.rows.outputs, self.height)
        found = pairs * self.instructions(self.height) + (self.instructions(1) if single else 0)
        (top, bottom), (left, right) = self.rows.interior(), self.columns.interior()
        across = -(-self.columns.outputs // self.across)
        first = PUSHED if self.pushes else CUT
        sides = first * (left > 0) + CUT * (right < self.columns.outputs)
        rows = self.rows.outputs - (bottom - top)
        return filters * (found + CUT * rows * across + (bottom - top) * sides)

    def flash(self, filters: int) -> int:
        """Bytes of code, weights and first values: rows that padding cuts have their own code."""
        low, high = self.inside(self.height, self.height, across=False)
        steps = -(-self.rows.outputs // self.height)
        bodies = steps - (high - low) + (1 if low < high else 0)
        return INSTRUCTION * bodies * self.instructions(self.height) + filters * (BYTES + FIRST)

    def instructions(self, rows: int) -> int:
        """The instructions of one or two rows of outputs."""
        step, outputs = self.width(rows), self.columns.outputs
        whole, rest = divmod(outputs, step)
        blocks = [Block(rows, step)] * whole + ([Block(rows, rest)] if rest else [])
        stored = sum(REQUANTISED * len(block.fours) + STORED for block in blocks)
        return rows * (GATHERED * self.patches(step) + outputs) + stored

    def patches(self, step: int) -> int:
        """The patches of a row whose outputs are stored `step` at a time.

        Those of the steps inside are patches of their own, as these steps are a loop.
        """
        first, behind = self.inside(step, step, across=True)
        straight = first * step, self.columns.outputs - behind * step
        found = sum(-(-count // self.across) for count in straight)
        return found + (behind - first) * -(-step // self.across)

    def inside(self, count: int, step: int, *, across: bool) -> tuple[int, int]:
        """The steps whose patches are all on the map: the first one, and the one behind the last.

        A step has `count` outputs along an axis: columns with `across`, else rows.
        """
        axis = self.columns if across else self.rows
        size = COLUMNS if across else TAPS
        last = (count - 1) // self.across * self.across if across else count - 1
        found = [
            number
            for number in range(axis.outputs // step)
            if axis.start(number * step) >= 0
            and axis.start(number * step + last) + size <= axis.size
        ]
        return (found[0], found[-1] + 1) if found else (0, 0)

    def pads(
        self, rows: Side, columns: Side, outputs: int, *, pushed: bool = False
    ) -> tuple[bool, ...]:
        """Which bytes of a patch are padding that one of its first outputs has a tap on.

        `pushed`: all columns make room for one in front of them later.
        """
        taps = {
            number * self.columns.stride + tap - pushed
            for number in range(outputs)
            for tap in range(self.columns.kernel)
        }
        found = [
            column in taps and row < self.rows.kernel and (beside or above)
            for column, beside in enumerate(columns.outside)
            for row, above in enumerate(rows.outside)
        ]
        return (*found, False)


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


def pack_windows(weights: NDArray[np.int8], across: int, stride: int) -> NDArray[np.int8]:
    """Weights [channels, rows, columns] of at most three by three, as bytes of patches.

    A channel has 16 bytes, of which the last seven are zero. Some zeros lie in front of the first.
    """
    channels, rows, columns = weights.shape
    packed = np.zeros((channels, BYTES), np.int8)
    for column in range(columns):
        packed[:, TAPS * column : TAPS * column + rows] = weights[:, :, column]
    return np.concatenate([np.zeros(lead(across, stride), np.int8), packed.ravel()])


def lead(across: int, stride: int) -> int:
    """The zeros in front of the weights of the first channel."""
    return (across - 1) * stride * TAPS


def weights_at(number: int, across: int, stride: int) -> int:
    """The first byte of a channel's weights for an output of a patch."""
    return lead(across, stride) - number * stride * TAPS
