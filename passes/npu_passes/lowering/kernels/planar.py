"""Convolutions of bytes channel by channel, in dense rows, such as the first layer of images.

A kernel row is multiplied with a row of one channel (`row_plan.py`). Two neighbouring pixels and
four filters make eight sums. Border columns have code of their own, which leaves out taps on
padding. For border rows, the bounds of the loop leave out kernel rows on padding. The zero point is
subtracted from each byte if padding can cut the window, and is folded into the bias otherwise.

Up to three filters of a depthwise layer are computed one after the other, for four neighbouring
pixels, whose outputs are a word.

An image may have its channels last. Single bytes are then read in steps. Words hold all channels,
so the image is read as one of a single channel: a kernel row of three taps over three channels is a
row of nine elements, and neighbouring pixels are three elements apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import PoolAttr
from npu_dialect.windows import Axis
from npu_passes.buffers.choose_layouts import is_channels_last
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import ONE_GROUP, Groups
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.planar_rows import ByteRows, DualRows, RowPlan, Rows, Views
from npu_passes.lowering.kernels.unit import ByteUnit, DualUnit
from npu_passes.lowering.kernels.walk import MOST_COLUMNS, border_columns, visit_blocks, visit_lines
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index, memref_type
from npu_plans.kernels.conv_plan import Span, cut_rows, ends_of, interior
from npu_plans.kernels.packing import FILTERS, PAIR
from npu_plans.kernels.row_plan import QUAD, Pixel

LONG = 24
"""From more words of weights of a filter on, the sums stay in place; GCC would spill them."""


def row_of(grid: Grid, pool: PoolAttr | None) -> int:
    """Elements of an input row that two neighbouring outputs or a row of a pooling window need."""
    pixels = PAIR
    if pool is not None:
        pixels = pool.axes(grid.rows.outputs, grid.columns.outputs)[1].reach
    return (pixels - 1) * grid.columns.stride + grid.columns.reach


def rows_of(layer: Layer, columns: Axis, step: int) -> Rows:
    """The kernel rows for the unit of a layer; `step`: elements from a column to the next."""
    unit = layer.unit
    if isinstance(unit, DualUnit):
        assert step == 1
        return DualRows(layer.b, unit, columns.kernel, columns.dilation)
    assert isinstance(unit, ByteUnit)
    return ByteRows(layer.b, unit, columns.kernel, step)


class PlanarKernel:
    """Builds the loops of one convolution, inside a loop over its groups."""

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        pool: PoolAttr | None,
        groups: Groups = ONE_GROUP,
    ) -> None:
        _, plane, line, step = memref_type(map).get_strides() or (0, 0, 0, 1)
        weights = layer.weights
        if step != 1 and isinstance(layer.unit, DualUnit):
            grid, step = grid.lines, 1
            weights = weights.transpose(0, 2, 3, 1)
            weights = weights.reshape(len(weights), 1, grid.rows.kernel, grid.columns.kernel)
        self.layer, self.grid, self.pool, self.groups = layer, grid, pool, groups
        # GCC keeps sums that a loop carries in place only if they are requantised one by one.
        layer.joins_early = grid.channels == 1
        self.filters = len(weights) // groups.count
        self.first_channel: Index = 0
        self.first_filter: Index = 0
        self.b, self.rows, self.columns = layer.b, grid.rows, grid.columns
        self.plane, self.pitch, self.step = plane or 0, line or self.columns.size, step or 1
        self.form = rows_of(layer, self.columns, self.step)
        parts = groups.count if self.block > 1 else len(weights)
        packed = [self.form.packed(each) for each in np.split(weights, parts)]
        self.taps = layer.table("taps", np.concatenate(packed))
        self.patch = layer.vector(map)

    @staticmethod
    def fits(map: SSAValue, grid: Grid, pool: PoolAttr | None, groups: int) -> bool:
        """Whether rows are dense, and long enough to load words, with narrow borders.

        Those of an image with channels last hold all channels, so it must have one group.
        """
        type_ = memref_type(map)
        strides = type_.get_strides()
        if strides is None or any(step is None for step in strides):
            return False
        if strides[3] != 1:
            if groups > 1 or grid.columns.dilation > 1 or not is_channels_last(type_):
                return False
            grid = grid.lines
        if grid.columns.size < QUAD:
            return False
        span, width = interior(grid.columns, None), PAIR
        if pool is not None:
            axes = pool.axes(grid.rows.outputs, grid.columns.outputs)
            if any(axis.before or axis.after or axis.ceil for axis in axes):
                return False
            span, width = interior(grid.columns, axes[1]), 1
        wide = row_of(grid, pool) >= QUAD
        return wide and border_columns(span, width) <= MOST_COLUMNS

    def build(self) -> None:
        """Build loops over groups, rows, columns and blocks of filters, from outside to inside."""

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.first_channel = self.b.mul(group, self.groups.channels)
            first = self.b.mul(group, self.filters)

            def some(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.first_filter = self.b.add(first, filter)
                self.one_group()
                return ()

            if self.block > 1:
                return some(0, ())
            self.b.loop(0, self.filters, some, hint="o")
            return ()

        self.b.loop(0, self.groups.count, one, hint="g")

    def one_group(self) -> None:
        """Build the loops of one group, or of one of its filters."""
        if self.pool is None:
            rows, columns = interior(self.rows, None), interior(self.columns, None)
            if self.block == 1 and (ends := ends_of(columns, QUAD, QUAD)) is not None:
                visit_blocks(self.b, rows, columns, QUAD, ends, self.line)
                return
            once = self.layer.unit.form == "narrow"
            visit_lines(self.b, rows, columns, PAIR, self.line, once=once)
            return
        axes = self.pool.axes(self.rows.outputs, self.columns.outputs)
        spans = interior(self.rows, axes[0]), interior(self.columns, axes[1])
        visit_lines(
            self.b,
            *spans,
            1,
            lambda row, inside, column, _: self.window(axes, spans[1], row, inside, column),
            once=self.layer.unit.form == "narrow",
        )

    @cached_property
    def block(self) -> int:
        """The filters that are computed together.

        One at a time takes less than two or three of a channel: it leaves room for more pixels, and
        four neighbouring outputs are stored as a word. With a stride, pixels share few elements.
        """
        few = self.filters == 1 or (self.filters < FILTERS and self.columns.stride == 1)
        plain = isinstance(self.form, DualRows) and self.layer.unit.form != "narrow"
        return 1 if few and plain and self.grid.channels == 1 and self.pool is None else FILTERS

    def line(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Compute `width` neighbouring outputs of a row, for all filters."""

        def block(filter: Index, count: int) -> None:
            sums = self.sums(row, inside, column, width, filter, count)
            self.layer.put(sums, filter, row, column, range(count))

        if self.block > 1:
            self.layer.each_block(block, self.first_filter, self.filters)
            return
        sums = self.sums(row, inside, column, width, self.first_filter, 1)
        self.layer.put_along(sums, self.first_filter, row, column)

    def window(
        self, axes: tuple[Axis, Axis], span: Span, row: Index, inside: bool, column: Index
    ) -> None:
        """Compute one pooled output, two pixels of its window at a time."""
        b, (ys, xs) = self.b, axes
        top, left = window_start(b, ys, row, "cy"), window_start(b, xs, column, "cx")
        pair = PAIR if xs.dilation == 1 else 1

        def block(filter: Index, count: int) -> None:
            def one_row(wy: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                y = b.add(top, b.mul(wy, ys.dilation), "cy")
                for wx in range(0, xs.kernel, pair):
                    width = min(pair, xs.kernel - wx)
                    x = b.add(left, wx * xs.dilation, "cx")
                    behind = wx * xs.dilation * self.columns.stride
                    sums = self.sums(y, inside, x, width, filter, count, behind)
                    best = self.layer.best(best, sums)
                return best

            self.layer.put_greatest((0, ys.kernel), one_row, filter, count, row, column)

        self.layer.each_block(block, self.first_filter, self.filters)

    # -- sums ------------------------------------------------------------------------------------

    def pixels(self, column: Index, width: int, behind: int) -> tuple[list[Pixel], int, int]:
        """The elements of an input row that neighbouring pixels need.

        Returns: the pixels, and the first and last element at which a word may be loaded. Elements
        are counted from the first one of these pixels, or at a known column from the start of the
        row. `behind`: elements of the pooling window in front of the pixels.
        """
        axis = self.columns
        if isinstance(column, int):
            starts = [axis.start(column + p) for p in range(width)]
            taps = [axis.taps(column + p) for p in range(width)]
            found = [Pixel(s, *t, axis.dilation) for s, t in zip(starts, taps)]
            return found, 0, axis.size - QUAD
        starts = [axis.stride * p for p in range(width)]
        span = starts[-1] + axis.reach
        found = [Pixel(start, 0, axis.kernel, axis.dilation) for start in starts]
        if span >= QUAD:
            return found, 0, span - QUAD
        # A word may be wider than the pixels; inside the pooling window it cannot leave the row.
        last = row_of(self.grid, self.pool) - QUAD - behind
        return found, max(-behind, span - QUAD), min(0, last)

    def sums(
        self,
        row: Index,
        inside: bool,
        column: Index,
        width: int,
        filter: Index,
        count: int,
        behind: int = 0,
    ) -> Sequence[SSAValue]:
        """Sums of `width` neighbouring outputs for some filters; `inside`: the row is interior."""
        b = self.b
        pixels, first, last = self.pixels(column, width, behind)
        plan = self.form.plan(pixels, first, last)
        whole = inside and all(p.high - p.low == self.columns.kernel for p in pixels)
        whole = whole and self.layer.folds
        base = b.add(self.first_element(row, column), b.mul(self.first_channel, self.plane))
        taps = b.mul(filter, self.grid.channels * self.rows.kernel * self.form.words)
        bounds = (0, self.rows.kernel) if inside else tap_range(b, self.rows, row)

        line = self.rows.dilation * self.pitch
        size = self.form.words * count

        def views(channel: Index, ky: Index, rows: int) -> Views:
            at = b.add(b.add(base, b.mul(channel, self.plane)), b.mul(ky, line))
            number = b.add(b.mul(channel, self.rows.kernel), ky)
            weights = b.add(taps, b.mul(number, size))
            return self.views(at, weights, plan, (rows, line, size))

        straight = self.straight(inside)
        add = partial(
            self.form.row,
            less_zero=not whole,
            in_place=self.grid.channels > 1 or self.rows.kernel * self.form.words > LONG,
        )

        def one_row(channel: Index, ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return add(views(channel, ky, 1), 0, 0, plan, sums)

        def one_channel(channel: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if straight:
                seen = views(channel, bounds[0], straight)  # one pointer for all rows
                for ky in range(straight):
                    sums = add(seen, ky * line, ky * size, plan, sums)
                return sums
            return b.loop(
                *bounds, lambda ky, s: one_row(channel, ky, s), sums, hint="ky", carry="acc"
            )

        starts = self.layer.biases(filter, range(count), folded=whole) * width
        if not any(pixel.low < pixel.high for pixel in pixels):  # nothing but padding
            return starts
        return b.loop(0, self.grid.channels, one_channel, starts, hint="ic", carry="acc")

    def straight(self, inside: bool) -> int:
        """The number of kernel rows in straight-line code; 0 if there is a loop over them.

        Rows of outputs that padding cuts share code if as many kernel rows are left in each, as in
        `DepthwiseKernel`; so they do if this computes one filter at a time.
        """
        if inside:
            return self.rows.kernel if self.rows.kernel <= self.form.straight else 0
        return cut_rows(self.rows) if self.block == 1 else 0

    def first_element(self, row: Index, column: Index) -> Index:
        """The element of a channel where an output's window starts; at a known column, its row."""
        b = self.b
        x = 0 if isinstance(column, int) else window_start(b, self.columns, column)
        y = window_start(b, self.rows, row)
        return b.add(b.mul(y, self.pitch), b.mul(x, self.step))

    def views(
        self, at: Index, weights: Index, plan: RowPlan, extent: tuple[int, int, int]
    ) -> Views:
        """Views of some kernel rows: of the input from element `at` on, and of the weights.

        `extent`: the number of rows, and their distances in the input and in the weights, in
        elements.
        """
        rows, line, size = extent
        reach = (plan.end - plan.origin - 1) * self.step + 1 + (rows - 1) * line
        start = self.b.add(at, plan.origin * self.step)
        patch = self.b.window(self.patch, [start], [reach], [0], "patch")
        taps = self.b.window(self.taps, [weights], [rows * size], [0], "taps")
        return Views(patch, plan.origin, taps)
