"""Convolutions of bytes with few channels in the model's layout, such as of an image.

A kernel row meets a row of one channel (`row_plan.py`). Two neighbouring pixels and four filters
make eight sums. Columns on the border are at known places, where taps on padding are left out; rows
there are cut by the bounds of the loop. The zero point is taken off each byte wherever padding can
cut a window, and is part of the bias elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.npu import PoolAttr
from npu_dialect.npu.shapes import Axis
from npu_passes.lowering.common import tap_range, window_start
from npu_passes.lowering.conv_plan import Span, interior
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.packing import FILTERS, blocks_of, pairs
from npu_passes.lowering.kernels.row_plan import (
    QUAD,
    Pixel,
    Product,
    Step,
    Word,
    plan_row,
    weight_words,
)
from npu_passes.lowering.kernels.unit import CROWDED, DualUnit
from npu_passes.lowering.kernels.walk import border_columns, visit_lines
from npu_passes.lowering.loop_builder import Index

PAIR = 2
"""Pixels that share the loads of weights."""
MOST_COLUMNS = 8
"""Columns of the border, at most: each has code of its own."""
STRAIGHT = 12
"""Kernel rows in one straight line of code, at most."""


def pack_rows(weights: NDArray[np.int8]) -> NDArray[np.int32]:
    """Weights [filters, channels, rows, taps] as words, block by block of filters.

    In a block: channel by channel, row by row, word by word, a word of each filter.
    """
    parts: list[NDArray[np.int32]] = []
    zero = np.zeros_like(weights[..., 0])
    for first, count in blocks_of(len(weights)):
        words = [
            pairs(weights[..., low], zero if high is None else weights[..., high])
            for low, high in weight_words(weights.shape[-1])
        ]
        block = np.stack(words, axis=-1)[first : first + count]  # filters, C, rows, words
        parts.append(block.transpose(1, 2, 3, 0).reshape(-1))
    return np.concatenate(parts)


@dataclass(frozen=True)
class Views:
    """Rows of the input, from element `origin` of a row on, and their weights."""

    patch: SSAValue
    origin: int
    taps: SSAValue


def row_of(grid: Grid, pool: PoolAttr | None) -> int:
    """Elements of a row that neighbouring outputs, or those of a pooling window, need."""
    pixels = PAIR
    if pool is not None:
        pixels = pool.axes(grid.rows.outputs, grid.columns.outputs)[1].reach
    return (pixels - 1) * grid.columns.stride + grid.columns.kernel


class PlanarKernel:
    """Builds the loops of one convolution on dual multiply-accumulates."""

    def __init__(
        self, layer: Layer, unit: DualUnit, map: SSAValue, grid: Grid, pool: PoolAttr | None
    ) -> None:
        self.layer, self.unit, self.grid, self.pool = layer, unit, grid, pool
        self.b, self.rows, self.columns = layer.b, grid.rows, grid.columns
        self.filters = len(layer.weights)
        self.words = len(weight_words(self.columns.kernel))
        self.taps = layer.table("taps", pack_rows(layer.weights))
        self.patch = layer.vector(map)

    @staticmethod
    def fits(grid: Grid, pool: PoolAttr | None) -> bool:
        """Whether rows are long enough for words, and borders narrow."""
        if grid.columns.dilation != 1 or grid.columns.size < QUAD:
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
        """Loops over rows, inside them over columns, inside them over blocks of filters."""
        if self.pool is None:
            spans = interior(self.rows, None), interior(self.columns, None)
            visit_lines(self.b, *spans, PAIR, self.line)
            return
        axes = self.pool.axes(self.rows.outputs, self.columns.outputs)
        spans = interior(self.rows, axes[0]), interior(self.columns, axes[1])
        visit_lines(
            self.b,
            *spans,
            1,
            lambda row, inside, column, _: self.window(axes, spans[1], row, inside, column),
        )

    def each_block(self, body: Callable[[Index, int], None]) -> None:
        """Visit the blocks of filters: first filter, number of filters."""
        whole = self.filters // FILTERS * FILTERS

        def one(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(filter, FILTERS)
            return ()

        self.b.loop(0, whole, one, step=FILTERS, hint="oc")
        if whole < self.filters:
            body(whole, self.filters - whole)

    def line(self, row: Index, inside: bool, column: Index, width: int) -> None:
        """Neighbouring outputs of a row."""

        def block(filter: Index, count: int) -> None:
            sums = self.sums(row, inside, column, width, filter, count)
            self.layer.put(sums, filter, row, column, range(count))

        self.each_block(block)

    def window(
        self, axes: tuple[Axis, Axis], span: Span, row: Index, inside: bool, column: Index
    ) -> None:
        """One pooled output: the pixels of its window, two at a time."""
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
                    for p in range(width):
                        some = sums[p * count : (p + 1) * count]
                        best = [b.maxf(n, o, "best") for o, n in zip(best, some, strict=True)]
                return best

            lowest = [self.layer.epilogue.lowest()] * count
            best = b.loop(0, ys.kernel, one_row, lowest, hint="wy", carry="best")
            self.layer.put(best, filter, row, column, range(count))

        self.each_block(block)

    # -- sums ------------------------------------------------------------------------------------

    def pixels(self, column: Index, width: int, behind: int) -> tuple[list[Pixel], int, int]:
        """What pixels need of a row, and where words may be loaded, from their first element on.

        At a known column elements are counted from the first one of the row. `behind`: elements of
        the pooling window in front of them.
        """
        axis = self.columns
        if isinstance(column, int):
            starts = [axis.start(column + p) for p in range(width)]
            taps = [axis.taps(column + p) for p in range(width)]
            return [Pixel(s, *t) for s, t in zip(starts, taps)], 0, axis.size - QUAD
        starts = [axis.stride * p for p in range(width)]
        span = starts[-1] + axis.kernel
        found = [Pixel(start, 0, axis.kernel) for start in starts]
        if span >= QUAD:
            return found, 0, span - QUAD
        # A word that reaches over the pixels stays in the row where it stays in the window.
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
        """Sums of neighbouring convolution outputs, for a block of filters."""
        b = self.b
        pixels, first, last = self.pixels(column, width, behind)
        steps = plan_row(self.columns.kernel, pixels, first, last)
        assert steps is not None  # a row has a word at least
        whole = inside and all(p.high - p.low == self.columns.kernel for p in pixels)
        x = 0 if isinstance(column, int) else window_start(b, self.columns, column)
        y = window_start(b, self.rows, row)
        base = b.add(b.mul(y, self.columns.size), x)
        taps = b.mul(filter, self.grid.channels * self.rows.kernel * self.words)
        bounds = (0, self.rows.kernel) if inside else tap_range(b, self.rows, row)

        line = self.rows.dilation * self.columns.size
        size = self.words * count

        def views(channel: Index, ky: Index, rows: int) -> Views:
            at = b.add(
                b.add(base, b.mul(channel, self.rows.size * self.columns.size)), b.mul(ky, line)
            )
            number = b.add(b.mul(channel, self.rows.kernel), ky)
            weights = b.add(taps, b.mul(number, size))
            return self.views(at, weights, steps, (rows, line, size))

        def one_row(channel: Index, ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.row(views(channel, ky, 1), 0, 0, steps, width, sums, less_zero=not whole)

        def one_channel(channel: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if inside and self.rows.kernel <= STRAIGHT:
                seen = views(channel, 0, self.rows.kernel)  # one pointer for all rows
                for ky in range(self.rows.kernel):
                    places = ky * line, ky * size
                    sums = self.row(seen, *places, steps, width, sums, less_zero=not whole)
                return sums
            return b.loop(
                *bounds, lambda ky, s: one_row(channel, ky, s), sums, hint="ky", carry="acc"
            )

        starts = self.layer.biases(filter, range(count), folded=whole) * width
        if not steps:  # nothing but padding
            return starts
        return b.loop(0, self.grid.channels, one_channel, starts, hint="ic", carry="acc")

    def views(
        self, at: Index, weights: Index, steps: Sequence[Step], extent: tuple[int, int, int]
    ) -> Views:
        """Some kernel rows of the input from an element on, and their weights.

        `extent`: how many rows, and how far apart they are in the input and in the weights.
        """
        rows, line, size = extent
        starts = [product.word.start for step in steps for product in step.products]
        origin = min(starts)
        reach = max(starts) + QUAD - origin + (rows - 1) * line
        patch = self.b.window(self.patch, [self.b.add(at, origin)], [reach], [0], "patch")
        return Views(patch, origin, self.b.window(self.taps, [weights], [rows * size], [0], "taps"))

    def row(
        self,
        views: Views,
        place: int,
        weights: int,
        steps: Sequence[Step],
        pixels: int,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
    ) -> Sequence[SSAValue]:
        """The sums with one kernel row more, which begins at places of the views."""
        b, unit, found = self.b, self.unit, list(sums)
        count = len(sums) // pixels
        crowded = len(sums) >= CROWDED
        values: dict[Word, SSAValue] = {}
        for step in steps:
            used = {product.word for product in step.products}
            if crowded:  # what the next step does not use would fill a register
                values = {word: value for word, value in values.items() if word in used}
            for product in step.products:
                if product.word not in values:
                    at = place + product.word.start - views.origin
                    loaded = unit.word(views.patch, at)
                    values[product.word] = unit.halves(loaded, product.word.half, less_zero)
            if crowded:
                b.insert(dsp.KeepOrderOp())
            for f in range(count):
                weight = b.load(views.taps, [weights + step.weight * count + f], "w")
                for product in step.products:
                    here = product.pixel * count + f
                    found[here] = self.product(values, product, weight, found[here])
                if crowded:
                    b.insert(dsp.KeepOrderOp())
        return found

    def product(
        self, values: dict[Word, SSAValue], product: Product, weight: SSAValue, total: SSAValue
    ) -> SSAValue:
        """One multiply-accumulate."""
        value = values[product.word]
        if not product.halves:
            return self.b.insert(dsp.SmladOp(value, weight, total), "acc").result
        return self.b.insert(dsp.SmlaOp(value, weight, total, product.halves), "acc").result
