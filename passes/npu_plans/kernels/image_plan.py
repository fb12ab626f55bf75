"""Plans convolutions of few channels on a vector unit: where the bytes of a window lie. No IR.

All taps of a window, channel by channel, are one run of bytes, which vectors of 16 hold. They are
gathered from the map, whose channels may lie as they like, such as planes of an image:

    vector   bytes                                            3x3, 3 channels
    0        all nine taps of channel 0, seven of channel 1
    1        two of channel 1, nine of channel 2, and five times the last one, with weights of zero

Taps outside of the map are gathered from its nearest element. Then they become the zero point. So
windows that padding cuts fall into few classes, each with its own places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TypeVar

from npu_dialect.windows import Axis
from npu_plans.kernels.block_plan import BlockPlan
from npu_plans.kernels.conv_plan import Span, interior
from npu_plans.kernels.gathers import BYTES, FOUR, INSTRUCTION
from npu_plans.kernels.packing import PAIR
from npu_plans.kernels.patch_plan import FARTHEST
from npu_plans.kernels.row_blocks import FREE
from npu_plans.kernels.run_cost import STORED, RunCost
from npu_plans.kernels.sixteen_plan import is_worth

T = TypeVar("T")

LEAST = 8
"""The fewest taps of a window that are worth a vector."""
MOST = 28
"""The most vectors of the pixels that are computed together. Most of them lie on the stack."""
SAVED = 0.25
"""Instructions a product that vectors of bytes save, about, beside filters in lanes."""
TOGETHER = 4
"""The outputs at the end of a row that are computed together, where the output follows its map."""
AT_END = 8
"""The most vectors that these have: half of them stay in registers, the others on the stack."""
TAKEN, RELOADED = 1.5, 0.25
"""Instructions of an output for a vector: a product and half of a load of weights, and what windows
take that do not stay in registers. Four filters share the load of one."""
PACKED = 1.0
"""Instructions that pack a vector for all filters."""
GATHERED, LIMITED = 4.0, 12.0
"""Instructions that gather a vector of a window inside of the map, and at its border."""
STRAIGHT = 16
"""The most filters in straight-line code."""
OTHER_CODE = 1400
"""Bytes of the code of runs, about."""
NEAR = 1 << 8
"""Places of a load of 16 bytes are below this; those of two loads of eight bytes need not be."""


@dataclass(frozen=True)
class Parts:
    """The outputs of a row: a first one `alone` if they are odd, then pairs, and the last ones.

    Both windows of `pairs` lie on the map; those of pairs `before` and `behind` these may not. From
    `end` on, all are computed together, if there are any.
    """

    alone: bool
    before: range
    pairs: range
    behind: range

    @property
    def end(self) -> int:
        """The first output that is computed together with all behind it."""
        return self.behind.stop


@dataclass(frozen=True)
class ImagePlan:
    """The windows of a map of some channels, which lie `apart`; so do pixels and lines.

    `mixed`: whether one code has rows that padding cuts, and others. `follows`: whether the output
    is to lie as close behind its dying map as it can.
    """

    rows: Axis
    columns: Axis
    channels: int
    apart: int
    pixel: int
    line: int
    mixed: bool = False
    follows: bool = False

    @property
    def taps(self) -> int:
        """The bytes of a window."""
        return self.channels * self.rows.kernel * self.columns.kernel

    @property
    def vectors(self) -> int:
        """The vectors of a window."""
        return -(-self.taps // BYTES)

    @property
    def bytes(self) -> int:
        """The bytes of its vectors."""
        return self.vectors * BYTES

    def fits(self, pixels: int) -> bool:
        """Whether there are enough taps, and vectors of some pixels together are not too many."""
        return self.taps >= LEAST and self.reach <= FARTHEST and pixels * self.vectors <= MOST

    @property
    def flash(self) -> int:
        """The bytes of the tables of places and limits: a row for each class of windows."""
        cut = [len(cut_positions(axis)) for axis in (self.rows, self.columns)]
        classes = prod(
            each + (each < axis.outputs)
            for each, axis in zip(cut, (self.rows, self.columns), strict=True)
        )
        place = 1 if self.is_near else 2
        return classes * self.bytes * (place + (2 if any(cut) else 0))

    def pays(self, filters: int, runs: int) -> bool:
        """Whether tables, and zeros behind the weights, are worth what they save in some runs."""
        outputs = runs * filters * self.rows.outputs * self.columns.outputs
        more = self.flash + filters * (self.bytes - self.taps)
        return is_worth(outputs * self.taps * SAVED, more)

    def total(self, filters: int) -> float:
        """The instructions of an output, on average, if so many filters read its window."""
        reloads = PAIR * self.vectors > FREE
        cut = [len(cut_positions(axis)) / axis.outputs for axis in (self.rows, self.columns)]
        inside = (1 - cut[0]) * (1 - cut[1])
        gathered = inside * GATHERED + (1 - inside) * LIMITED + PACKED * reloads
        return self.vectors * (TAKEN + RELOADED * reloads + gathered / filters) + STORED

    def beats_runs(self, other: RunCost | BlockPlan, filters: int, groups: int, runs: int) -> bool:
        """Whether the code and the tables are worth what they save beside runs of bytes.

        `filters`: those of a group. `runs`: how often the layer runs.
        """
        outputs = runs * groups * filters * self.rows.outputs * self.columns.outputs
        more = self.code(filters) + self.flash + groups * filters * (self.bytes - self.taps)
        return is_worth(outputs * (other.total - self.total(filters)), more)

    def code(self, filters: int) -> int:
        """The bytes of code more than that of runs of bytes, about.

        Each part of a row has code of its own, and so have rows at a border.
        """
        parts = self.parts(interior(self.columns, None), cut=False)
        four, gathered = FOUR * (self.vectors * TAKEN + STORED), self.vectors * LIMITED
        borders = PAIR * (len(parts.before) > 0), PAIR * (len(parts.behind) > 0)
        ends = parts.alone + self.columns.outputs - parts.end
        pairs = PAIR * (len(parts.pairs) > 0)
        found = ends + sum(borders) + pairs
        if cut_positions(self.rows):
            found += ends + PAIR
        found *= four + gathered
        if filters <= STRAIGHT:
            found += pairs * four * (-(-filters // FOUR) - 1)
        return max(0, round(INSTRUCTION * found) - OTHER_CODE)

    def parts(self, columns: Span, *, cut: bool) -> Parts:
        """How the outputs of a row are computed; those of `columns` lie on the map.

        If padding cuts the row, no window lies on the map.
        """
        alone = columns.total % PAIR
        few = self.follows and TOGETHER * self.vectors <= AT_END
        end = max(alone, columns.total - (TOGETHER if few else 0))
        low, high = (end, end) if cut or columns.empty else (columns.low, columns.high)
        low = min(max(alone, low + (low - alone) % PAIR), end)
        high = max(low, min(high - (high - alone) % PAIR, end))
        pairs = (range(*each, PAIR) for each in ((alone, low), (low, high), (high, end)))
        return Parts(bool(alone), *pairs)

    @cached_property
    def bases(self) -> tuple[int, int]:
        """The last row and the last column from which places are counted: all taps lie behind.

        Windows on the map begin in front of it, or there. For rows it is as far behind as windows
        that padding cuts allow, so that less of the map counts as read; where `mixed`, one code has
        both kinds of windows.
        """
        spans = [min(axis.size, axis.reach) for axis in (self.rows, self.columns)]
        if not self.mixed and (cut := cut_positions(self.rows)):
            spans[0] = max(span(self.rows, each) for each in cut)
        return self.rows.size - spans[0], self.columns.size - spans[1]

    def places(self, row: int, column: int) -> list[list[int]]:
        """The places of the bytes of each vector of an output.

        They are counted from its first tap on the map, or from the last base in front of that.
        """
        axes = zip((self.rows, self.columns), self.bases, (row, column), strict=True)
        ends = [
            [each - min(max(axis.start(at), 0), base) for each in nearest(axis, at)]
            for axis, base, at in axes
        ]
        return self.in_vectors(
            [
                channel * self.apart + y * self.line + x * self.pixel
                for channel, y, x in product(range(self.channels), *ends)
            ]
        )

    def pads(self, row: int, column: int) -> list[list[bool]]:
        """Which bytes of each vector of an output lie outside of the map."""
        return self.in_vectors(
            [
                y or x
                for _, y, x in product(
                    range(self.channels), outside(self.rows, row), outside(self.columns, column)
                )
            ]
        )

    def in_vectors(self, taps: Sequence[T]) -> list[list[T]]:
        """One entry for each byte; the last tap is repeated."""
        whole = [*taps, *[taps[-1]] * (self.bytes - len(taps))]
        return [whole[first : first + BYTES] for first in range(0, self.bytes, BYTES)]

    @cached_property
    def reach(self) -> int:
        """The bytes from the first tap on the map to the last one, both included."""
        found = 1 + (self.channels - 1) * self.apart
        for axis, step in ((self.rows, self.line), (self.columns, self.pixel)):
            found += (min(axis.size, axis.reach) - 1) * step
        return found

    def reach_of(self, rows: Sequence[int], columns: Sequence[int]) -> int:
        """The same for outputs of some rows and columns only."""
        places = (self.places(row, column) for row in rows for column in columns)
        return 1 + max(max(vector) for vectors in places for vector in vectors)

    @property
    def is_near(self) -> bool:
        """Whether one load takes the bytes of a vector."""
        return self.reach <= NEAR


def wanted(axis: Axis, position: int) -> range:
    """Where the taps of a window are along an axis."""
    start = axis.start(position)
    return range(start, start + axis.reach, axis.dilation)


def nearest(axis: Axis, position: int) -> list[int]:
    """The nearest elements on the map to the taps of a window."""
    return [min(max(each, 0), axis.size - 1) for each in wanted(axis, position)]


def span(axis: Axis, position: int) -> int:
    """The elements from the first to the last one of those, both included."""
    found = nearest(axis, position)
    return found[-1] - found[0] + 1


def cut_positions(axis: Axis) -> list[int]:
    """The windows of an axis with taps outside of the map."""
    return [each for each in range(axis.outputs) if any(outside(axis, each))]


def outside(axis: Axis, position: int) -> list[bool]:
    """Which taps of a window are not on the map."""
    return [not 0 <= each < axis.size for each in wanted(axis, position)]
