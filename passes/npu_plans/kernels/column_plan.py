"""Plans a depthwise convolution over patches of whole columns that are gathered where they lie.

No IR. A *patch* is some neighbouring columns of one channel, column by column, each with as many
rows as the kernel has: three columns of five rows, or two of seven. The windows of outputs in a row
lie in patches one behind the other; each output is a sum of products of two to four patches.

    column of the first window       0 1 2   3 4 5   6 7 8        5x5, with a step of one
    patch                            0       1       2
    output 0                         x x x   x x
    output 1                           x x   x x x
    output 2                             x   x x x   x

The weights of an output depend on its *phase*, the place of its first column in a patch. They are
zero for columns of a patch that the window does not cover. Here three phases have seven vectors.

No working memory is needed, and rows may be far apart. Elements outside of the map are gathered
from its nearest ones; their bytes then become the zero point. A patch of padding only is not
gathered. Eight outputs of a row are stored together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis
from npu_plans.kernels.gathers import (
    BYTES,
    EIGHT,
    FIRST,
    GATHERED,
    INSTRUCTION,
    REQUANTISED,
    STORED,
    Block,
    Side,
)
from npu_plans.kernels.patch_plan import TAPS
from npu_plans.kernels.window_plan import WindowPlan

MOST_ROWS = 7
"""The most rows of a kernel: two such columns fit into a patch. The fewest are those of patches
that hold whole windows."""
MOST_VECTORS = 12
"""The most vectors of weights of a channel. They lie in flash."""
CHANNEL = 16
"""Instructions of a channel: its bias, its scale, pointers, and the entry of its loops."""
ROW = 6
"""Instructions of a row of outputs for pointers and its loop."""
SPILLED = 2
"""Instructions of four outputs for what gcc keeps on the stack."""
CUT = 8
"""Instructions that a patch takes besides if padding cuts it: constants are on the stack."""
CUT_BY_ROW = 3
"""The same of a patch in a row that padding cuts, as its constants serve all patches there."""
CONSTANT = 2
"""Instructions of a patch that is padding: it is on the stack."""
EIGHT_CHANNELS = 8
"""The channels that another kernel has in lanes."""
EIGHT_TAP = 5
"""Instructions of a tap of eight channels in lanes, about, with additions of groups."""
EIGHT_OUTPUT = 50
"""Instructions of an output of eight channels in lanes besides, about."""

Weights = tuple[int, int]
"""A phase, and the number of a patch among those of an output with that phase."""


@dataclass(frozen=True)
class Product:
    """A patch times weights, for an output. Outputs and patches are counted in their run."""

    output: int
    patch: int
    weights: Weights


@dataclass(frozen=True)
class Run:
    """Neighbouring outputs of a row, whose patches are shared: the first one, and how many."""

    first: int
    count: int

    @property
    def blocks(self) -> list[tuple[int, Block]]:
        """The outputs that are stored together, behind the number of the first one."""
        starts = range(0, self.count, EIGHT)
        return [(start, Block(1, min(EIGHT, self.count - start))) for start in starts]


@dataclass(frozen=True)
class ColumnPlan:
    """The patches of a layer; `rows` and `columns` are its axes."""

    rows: Axis
    columns: Axis

    @staticmethod
    def fits(rows: Axis, columns: Axis) -> bool:
        """Whether patches have two columns or more, and each window has taps on the map.

        Windows that lie in one patch are left to `WindowPlan`.
        """
        for axis in (rows, columns):
            apart = axis.dilation > 1 and axis.kernel > 1
            if apart or min(axis.size, axis.outputs) < 1:
                return False
            if max(axis.before, axis.after) >= axis.kernel:
                return False
        full = TAPS <= rows.kernel <= MOST_ROWS and columns.kernel >= TAPS
        if not full or WindowPlan.fits(rows, columns):
            return False
        return len(ColumnPlan(rows, columns).vectors) <= MOST_VECTORS

    # -- patches ---------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """The columns of a patch."""
        return BYTES // self.rows.kernel

    def place(self, output: int) -> tuple[int, int]:
        """The first patch of an output, and the phase: the column of its first tap there."""
        return divmod(output * self.columns.stride, self.width)

    def patches_of(self, phase: int) -> int:
        """The patches of an output."""
        return -(-(phase + self.columns.kernel) // self.width)

    def reach(self, count: int) -> int:
        """The columns of the windows of some outputs in a row."""
        return (count - 1) * self.columns.stride + self.columns.kernel if count else 0

    def patches(self, count: int) -> int:
        """The patches of a run of some outputs."""
        return -(-self.reach(count) // self.width)

    @cached_property
    def vectors(self) -> list[Weights]:
        """The vectors of weights of a channel, in the order of memory."""
        phases = sorted({self.place(output)[1] for output in range(self.width)})
        return [(phase, number) for phase in phases for number in range(self.patches_of(phase))]

    @property
    def filter_bytes(self) -> int:
        """The bytes of a filter's weights."""
        return BYTES * len(self.vectors)

    def taps(self, weights: Weights) -> list[tuple[int, int] | None]:
        """The kernel row and column by which each byte of a patch is multiplied."""
        phase, number = weights
        found: list[tuple[int, int] | None] = []
        for byte in range(BYTES):
            column, row = divmod(byte, self.rows.kernel)
            tap = number * self.width + column - phase
            inside = column < self.width and 0 <= tap < self.columns.kernel
            found.append((row, tap) if inside else None)
        return found

    # -- products --------------------------------------------------------------------------------

    def products(self, outputs: Sequence[int]) -> list[Product]:
        """The products of some outputs of a run; those with equal weights are neighbours.

        The weights are loaded once for these outputs then, while patches stay in registers.
        """
        found = list[Product]()
        for output in sorted(set(outputs)):
            patch, phase = self.place(output)
            numbers = range(self.patches_of(phase))
            found += [Product(output, patch + each, (phase, each)) for each in numbers]
        return sorted(found, key=lambda each: (each.weights, each.output))

    # -- runs ------------------------------------------------------------------------------------

    @cached_property
    def inside(self) -> tuple[int, int]:
        """The blocks of eight outputs that are a loop: the first one, and the one behind the last.

        All their patches lie on the map.
        """
        axis, reach = self.columns, self.patches(EIGHT) * self.width
        starts = [axis.start(number * EIGHT) for number in range(axis.outputs // EIGHT)]
        found = [i for i, start in enumerate(starts) if start >= 0 and start + reach <= axis.size]
        return (found[0], found[-1] + 1) if len(found) > 1 else (0, 0)

    @property
    def ends(self) -> tuple[Run, Run]:
        """The outputs of a row in front of the loop, and those behind it."""
        first, behind = (EIGHT * number for number in self.inside)
        return Run(0, first), Run(behind, self.columns.outputs - behind)

    def side(self, run: Run, patch: int) -> Side:
        """The columns of a patch of a run.

        Those behind all windows of the run count as if they were on the map.
        """
        first = patch * self.width
        side = Side.of(self.columns, self.columns.start(run.first) + first, self.width)
        read = self.reach(run.count) - first
        outside = tuple(each and place < read for place, each in enumerate(side.outside))
        return Side(side.first, side.steps, outside)

    def is_padding(self, run: Run, patch: int) -> bool:
        """Whether nothing that a run reads of a patch is on the map."""
        read = min(self.reach(run.count) - patch * self.width, self.width)
        return all(self.side(run, patch).outside[:read])

    def pads(self, rows: Side, columns: Side) -> tuple[bool, ...]:
        """Which bytes of a patch are padding."""
        found = [beside or above for beside in columns.outside for above in rows.outside]
        return (*found, *[False] * (BYTES - len(found)))

    # -- what it takes ---------------------------------------------------------------------------

    def of_run(self, run: Run) -> int:
        """The instructions of a run of outputs whose patches lie on the map."""
        found = GATHERED * self.patches(run.count)
        for start, block in run.blocks:
            for four in block.fours:
                products = self.products([start + column for _, column in four])
                loads = len({each.weights for each in products})
                found += len(products) + loads + REQUANTISED + SPILLED
            found += STORED
        return found

    @property
    def of_row(self) -> int:
        """The instructions of a row of outputs whose windows lie on the rows of the map."""
        first, behind = self.inside
        found = ROW + (behind - first) * (self.of_run(Run(0, EIGHT)) + ROW)
        for run in self.ends:
            found += self.of_run(run)
            for patch in range(self.patches(run.count)):
                if self.is_padding(run, patch):
                    found += CONSTANT - GATHERED
                elif any(self.side(run, patch).outside):
                    found += CUT
        return found

    def total(self, filters: int) -> int:
        """The instructions of a channel with some filters, about. Each gathers its patches."""
        top, bottom = self.rows.interior()
        cut = self.rows.outputs - (bottom - top)
        more = CUT + CUT_BY_ROW * self.patches(self.columns.outputs)
        return filters * (CHANNEL + self.rows.outputs * self.of_row + cut * more)

    def flash(self, filters: int) -> int:
        """Bytes of code, weights and first values: rows that padding cuts have their own code."""
        top, bottom = self.rows.interior()
        bodies = self.rows.outputs - (bottom - top) + (top < bottom)
        first, behind = self.inside
        code = [self.of_run(run) for run in self.ends]
        code += [self.of_run(Run(0, EIGHT))] if first < behind else []
        return INSTRUCTION * bodies * sum(code) + filters * (self.filter_bytes + FIRST)

    def beats_eight(self, channels: int, filters: int) -> bool:
        """Whether this takes fewer instructions than eight channels in lanes.

        These leave out the taps on padding.
        """
        down, across = (
            sum(high - low for low, high in map(axis.taps, range(axis.outputs)))
            for axis in (self.rows, self.columns)
        )
        outputs = self.rows.outputs * self.columns.outputs
        eight = EIGHT_TAP * down * across + EIGHT_OUTPUT * outputs
        return channels * self.total(filters) < -(-channels // EIGHT_CHANNELS) * filters * eight


def pack_columns(weights: NDArray[np.int8], plan: ColumnPlan) -> NDArray[np.int8]:
    """Weights [filters, kernel rows, kernel columns] as bytes of patches, by filter and vector."""
    packed = np.zeros((len(weights), len(plan.vectors), BYTES), np.int8)
    for number, vector in enumerate(plan.vectors):
        for byte, tap in enumerate(plan.taps(vector)):
            if tap is not None:
                packed[:, number, byte] = weights[:, tap[0], tap[1]]
    return packed.ravel()
