"""Convolutions and fully connected layers on a vector unit, of maps in any layout.

    %w = mve.load %taps[%k] : memref<216xf32, #npu.flash> -> vector<4xf32>
    %x = memref.load %patch[%c0, %c0, %c1] : memref<1x3x5xf32, ...>
    %s = mve.fma_scalar %w, %x, %acc : vector<4xf32>

The lanes of a vector are four filters, and an element of the map is a number for all of them. So
the map may lie as it likes, such as an image in the layout of the model. Maps of floats and bytes
take this kernel; `lane_kinds.py` has what differs. A block of some pixels by some vectors of
filters shares loads (`vector_plan.py`). The weights of its filters lie in the order [channel,
kernel y, kernel x, filter]. The products of an output are added in the order of the general loops;
those of floats with one rounding each. Lanes behind the last filter have weights of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu import Conv2dOp, FullyConnectedOp, PoolAttr
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.lane_kinds import LaneKind
from npu_passes.lowering.kernels.lane_views import as_pixels, axes_of, in_rows, is_flat
from npu_passes.lowering.kernels.layer import Maps
from npu_passes.lowering.kernels.walk import MOST_COLUMNS, border_columns, each_row, each_strip
from npu_passes.lowering.pool_window import counted
from npu_passes.support.common import LoopOptions, tap_range, window_start
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.vector_plan import LANES, Strip, vector_block

MakeKind: TypeAlias = Callable[[Maps, int, int], LaneKind]
"""Makes a kind of lanes for some maps, a number of lanes of a group, and a number of groups."""
STRAIGHT = 9
"""The most taps in straight-line code."""
WINDOW = 8
"""The most columns of a pooling window in straight-line code."""
FEWEST = 2
"""The fewest filters of a group for which the kernel is used. Fewer leave most lanes idle."""
NEAR = 32
"""Vectors of weights that loads reach from one pointer: the most in an iteration over channels."""
TOGETHER = 2
"""The most vectors of weights that are in registers at once."""

Sums: TypeAlias = Sequence[SSAValue]
"""Vectors of sums, ordered by pixel, then by filter."""


def pool_of(op: Conv2dOp | FullyConnectedOp) -> PoolAttr | None:
    """The windows that are computed one by one; None if outputs are folded into windows."""
    if not isinstance(op, Conv2dOp) or op.overlap == Overlap.ACCUMULATE:
        return None
    return op.pool


class VisitBlock(Protocol):
    """Builds the code for a block of filters."""

    def __call__(self, filter: Index, vectors: int) -> None:
        """Compute some vectors of filters, of which `filter` is the first one in the group."""
        ...


class LanesOfFilters:
    """Builds the loops of one image of a layer; `weights` are [O, I, kernel y, kernel x].

    `kind` makes what computes the elements of the maps.
    """

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp | FullyConnectedOp,
        maps: Maps,
        weights: NDArray[Any],
        kind: MakeKind,
        options: LoopOptions,
    ) -> None:
        self.b, self.op, self.small = b, op, options.flash != "fast"
        self.rows, self.columns = axes_of(op)
        self.pool = pool_of(op)
        self.groups = op.group_count if isinstance(op, Conv2dOp) else 1
        self.filters, self.depth = len(weights) // self.groups, weights.shape[1]
        if isinstance(op, FullyConnectedOp):
            maps = Maps(as_pixels(b, maps.input), as_pixels(b, maps.out))
        elif op.zero_points is None and is_flat(op, maps):
            maps = in_rows(b, maps)
            self.rows, self.columns = Axis(1, 1), Axis(self.rows.size * self.columns.size, 1)
        self.map, self.kind = maps.input, kind(maps, self.lanes, self.groups)
        self.block = vector_block(self.filters, self.width)
        self.taps = constant_table(b, op, "taps", self.packed(weights))
        self.first_channel: Index = 0
        self.first_filter: Index = 0
        self.first_lane: Index = 0

    @staticmethod
    def fits(op: Conv2dOp | FullyConnectedOp) -> bool:
        """Whether a group has enough filters, and few columns are cut by padding."""
        rows, columns = axes_of(op)
        groups = op.group_count if isinstance(op, Conv2dOp) else 1
        pool = pool_of(op)
        if shape_of(op.weight)[0] // groups < FEWEST or columns.kernel > STRAIGHT:
            return False
        xs = None if pool is None else pool.axes(rows.outputs, columns.outputs)[1]
        return border_columns(interior(columns, xs), 1) <= MOST_COLUMNS

    @property
    def windows(self) -> tuple[Axis, Axis] | tuple[None, None]:
        """The pooling windows over the outputs, if there are any."""
        if self.pool is None:
            return None, None
        return self.pool.axes(self.rows.outputs, self.columns.outputs)

    @property
    def width(self) -> int:
        """How many pixels lie side by side, of which no padding cuts the columns."""
        if (xs := self.windows[1]) is not None:
            return xs.kernel
        span = interior(self.columns, None)
        return max(1, span.high - span.low)

    @property
    def lanes(self) -> int:
        """The lanes of all vectors of a group."""
        return -(-self.filters // LANES) * LANES

    def packed(self, weights: NDArray[Any]) -> NDArray[Any]:
        """The weights of each block of filters, in the order of its taps."""
        found: list[NDArray[Any]] = []
        for group in np.split(weights, self.groups):
            padded = np.zeros((self.lanes, *group.shape[1:]), weights.dtype)
            padded[: self.filters] = group
            first = 0
            for vectors in self.block.blocks(self.filters):
                block = padded[first : first + vectors * LANES]
                found.append(block.transpose(1, 2, 3, 0).ravel())
                first += vectors * LANES
        return np.concatenate(found)

    def build(self) -> None:
        """Build a loop over the groups, inside it over the outputs, then over blocks of filters."""

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.first_channel = self.b.mul(group, self.depth)
            self.first_filter = self.b.mul(group, self.filters)
            self.first_lane = self.b.mul(group, self.lanes)
            self.one_group()
            return ()

        self.b.loop(0, self.groups, one, hint="g")

    def one_group(self) -> None:
        """Build the loops of one group."""
        b, (ys, xs) = self.b, self.windows
        rows, columns = interior(self.rows, ys), interior(self.columns, xs)

        def one_row(row: Index, inside: bool) -> tuple[()]:
            if ys is None or xs is None:
                line = partial(self.line, row, inside)
                return each_strip(b, columns, self.block.pixels, line)
            return each_strip(b, columns, 1, partial(self.window, (ys, xs), row, inside))

        each_row(b, rows, one_row, once=self.small)

    def each_block(self, body: VisitBlock) -> None:
        """Visit the blocks of filters; `body` gets the first of a block, and its vectors."""
        b, step = self.b, self.block.vectors * LANES
        whole = self.filters // step * step

        def one(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(filter, self.block.vectors)
            return ()

        b.loop(0, whole, one, step=step, hint="oc")
        if whole < self.lanes:
            body(whole, (self.lanes - whole) // LANES)

    # -- outputs ---------------------------------------------------------------------------------

    def line(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Compute `width` neighbouring outputs of a row, for all filters."""

        def block(filter: Index, vectors: int) -> None:
            sums = self.sums(row, inside, column, range(width), filter, vectors)
            for pixel in range(width):
                some = sums[pixel * vectors : (pixel + 1) * vectors]
                self.put(some, filter, row, self.b.add(column, pixel))

        self.each_block(block)

    def window(
        self,
        axes: tuple[Axis, Axis],
        row: Index,
        inside: bool,
        column: Index,
        _width: int,
    ) -> None:
        """Compute one pooled output; a column that padding cuts is known."""
        b, (ys, xs), pool = self.b, axes, self.pool
        assert pool is not None
        top, left = window_start(b, ys, row, "cy"), window_start(b, xs, column, "cx")
        low, high = xs.taps(column) if isinstance(column, int) else (0, xs.kernel)
        span, width = interior(self.columns, xs), self.block.pixels
        unclipped = not isinstance(column, int) or span.low <= column < span.high
        rows = (0, ys.kernel) if inside else tap_range(b, ys, row)
        taps = None if pool.is_max else counted(b, pool, axes, row, column)

        def block(filter: Index, vectors: int) -> None:
            def one_row(wy: Index, best: Sums) -> Sums:
                y = b.add(top, b.mul(wy, ys.dilation), "cy")

                def some(wx: Index, best: Sums, count: int = width) -> Sums:
                    x = b.add(left, b.mul(wx, xs.dilation), "cx")
                    steps = [each * xs.dilation for each in range(count)]
                    found, sums = list(best), self.sums(y, inside, x, steps, filter, vectors)
                    for number, each in enumerate(sums):
                        lane = number % vectors
                        found[lane] = self.kind.folded(pool, found[lane], each)
                    return found

                even = low + (high - low) // width * width
                if even - low > WINDOW and unclipped:
                    best = b.loop(low, even, some, best, step=width, hint="wx", carry="best")
                else:
                    for wx in range(low, even, width):
                        best = some(wx, best)
                return some(even, best, high - even) if even < high else best

            first = [self.kind.first(pool)] * vectors
            best = b.loop(*rows, one_row, first, hint="wy", carry="best")
            self.put(best, filter, row, column, taps)

        self.each_block(block)

    def put(
        self, sums: Sums, filter: Index, row: Index, column: Index, taps: SSAValue | None = None
    ) -> None:
        """Finish and store the sums of an output; the last vector may have fewer lanes.

        `taps`: those of an average.
        """
        rest = self.filters % LANES
        for number, each in enumerate(sums):
            lane = self.b.add(filter, number * LANES)
            last = isinstance(lane, int) and lane + LANES > self.filters
            channel = self.b.add(self.first_filter, lane)
            count = rest if last else LANES
            if taps is None:
                self.kind.put(each, channel, count, row, column)
            else:
                self.kind.put_average(each, channel, count, (row, column), taps)

    # -- sums ------------------------------------------------------------------------------------

    def sums(
        self,
        row: Index,
        inside: bool,
        column: Index,
        steps: Sequence[int],
        filter: Index,
        vectors: int,
    ) -> Sums:
        """The sums of outputs at `column + step` for each of some steps; the first step is 0.

        `inside`: no padding cuts the rows of their windows. It cuts columns if they are known.
        """
        b, known = self.b, column if isinstance(column, int) else None
        strip = Strip.of(self.columns, known, steps)
        lane = b.add(self.first_lane, filter)
        columns = [None if known is None else known + step for step in steps]
        starts = self.kind.starts(None if inside else row, columns, lane, vectors)
        if not strip.reach:
            return starts
        y = window_start(b, self.rows, row, "iy")
        x = window_start(b, self.columns, column, "ix") if known is None else strip.origin
        taps = b.mul(lane, self.depth * self.size)
        block = Block(self, (y, x), strip, vectors)
        if inside and self.size <= STRAIGHT and not self.small:
            return self.straight(block, taps, starts)
        rows = (0, self.rows.kernel) if inside else tap_range(b, self.rows, row)
        return self.looped(block, rows, taps, starts)

    def straight(self, block: Block, taps: Index, starts: Sums) -> Sums:
        """Add the products of all channels, some of them in one iteration of a loop."""
        b, size = self.b, self.size * block.vectors * LANES
        near = max(1, NEAR // (self.size * block.vectors))
        count = min(self.depth, STRAIGHT // self.size, near)
        whole = self.depth // count * count

        def some(i: Index, sums: Sums, count: int = count) -> Sums:
            return block.add(i, count, b.add(taps, b.mul(i, size)), range(self.rows.kernel), sums)

        sums = b.loop(0, whole, some, starts, step=count, hint="ic", carry="acc")
        return sums if whole == self.depth else some(whole, sums, self.depth - whole)

    def looped(self, block: Block, rows: tuple[Index, Index], taps: Index, starts: Sums) -> Sums:
        """Add the products of all channels, one kernel row after the other."""
        b, size = self.b, self.columns.kernel * block.vectors * LANES

        def one_row(i: Index, ky: Index, sums: Sums) -> Sums:
            number = b.add(b.mul(i, self.rows.kernel), ky)
            return block.add(i, 1, b.add(taps, b.mul(number, size)), ky, sums)

        def one_channel(i: Index, sums: Sums) -> Sums:
            return b.loop(*rows, lambda ky, s: one_row(i, ky, s), sums, hint="ky", carry="acc")

        return b.loop(0, self.depth, one_channel, starts, hint="ic", carry="acc")

    @property
    def size(self) -> int:
        """The taps of a channel."""
        return self.rows.kernel * self.columns.kernel


class Block:
    """Adds the products of a strip of outputs, for some vectors of filters, in straight lines.

    `at`: row and column of the map at which the first row of the kernel and the strip begin.
    """

    def __init__(
        self, kernel: LanesOfFilters, at: tuple[Index, Index], strip: Strip, vectors: int
    ) -> None:
        self.kernel, self.b, self.at = kernel, kernel.b, at
        self.strip, self.vectors = strip, vectors
        self.reads = [
            [(place, output) for place, output, each in strip.reads() if each == tap]
            for tap in range(kernel.columns.kernel)
        ]

    def add(
        self, channel: Index, count: int, first: Index, rows: range | Index, sums: Sums
    ) -> Sums:
        """Add the products of `count` channels, in all known rows or one row of the kernel.

        `first` is the first of their weights.
        """
        b, kernel, (y, x) = self.b, self.kernel, self.at
        known, dilation = rows if isinstance(rows, range) else range(1), kernel.rows.dilation
        if not isinstance(rows, range):
            y = b.add(y, b.mul(rows, dilation))
        sizes = (1, count, (len(known) - 1) * dilation + 1, self.strip.reach)
        at = (0, b.add(kernel.first_channel, channel), y, x)
        patch = b.window(kernel.map, at, sizes, (1, 2, 3), "patch")
        row_lanes = kernel.columns.kernel * self.vectors * LANES
        taps = b.window(kernel.taps, [first], [count * len(known) * row_lanes], [0], "taps")
        for c in range(count):
            for ky in known:
                start = (c * len(known) + ky) * row_lanes
                sums = self.row(patch, (c, ky * dilation), taps, start, sums)
        return sums

    def row(
        self, patch: SSAValue, at: tuple[int, int], taps: SSAValue, first: int, sums: Sums
    ) -> Sums:
        """Add the products of a kernel row; an element that several outputs read is loaded once."""
        b, loaded, found = self.b, dict[int, SSAValue](), list(sums)
        for tap, reads in enumerate(self.reads):
            for place, _ in reads:
                if place not in loaded:
                    loaded[place] = self.kernel.kind.element(b.load(patch, (*at, place), "x"))
            for v in range(0, self.vectors if reads else 0, TOGETHER):
                some = range(v, min(v + TOGETHER, self.vectors))
                starts = [first + (tap * self.vectors + each) * LANES for each in some]
                lanes = self.kernel.kind.vector
                loads = [mve.LoadOp(taps, b.value(start), lanes) for start in starts]
                weights = [b.insert(load, "w").result for load in loads]
                b.insert(dsp.KeepOrderOp.create())
                for place, output in reads:
                    for each, weight in zip(some, weights, strict=True):
                        at_sum = output * self.vectors + each
                        operands = (weight, loaded[place], found[at_sum])
                        found[at_sum] = self.kernel.kind.product(*operands)
        return found
