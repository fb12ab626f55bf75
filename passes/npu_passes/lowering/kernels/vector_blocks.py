"""Dense layers of bytes on a vector unit, in blocks of two pixels by four filters.

    %run = dsp.opaque %view : memref<152xi32, strided<[1], offset: ?>, #npu.flash>
    %a, %b = mve.mul_runs %ifm[%at] by %run[%c8] from %run[%c4] rows %c3 run 48 apart 16 ...
    %scales = mve.load %run[%c0] : ...

A kernel row is a run of contiguous bytes, as in `vector_dense.py`. Each op is all products of a
block, so gcc neither moves its eight sums nor computes a pointer for each filter. The table has
scales, first values and weights of four filters side by side (`row_blocks.py`), the weights in the
order of their loads. Windows that padding cuts at the left or right have code of their own, with
shorter runs; at the top and bottom they have fewer rows.

Outputs that are folded into the overlapping windows of a max pool (`folded_outputs.py`) have loops
along a row in which the windows of a pair are known, and all of its filters are folded at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu import PoolAttr
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.filter_blocks import FilterBlocks, Filters
from npu_passes.lowering.kernels.folded_outputs import Block, FoldedOutputs
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import Groups
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_starts import Classes, Starts
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.block_plan import BlockPlan, Part
from npu_plans.kernels.gathers import BYTES
from npu_plans.kernels.packing import PAIR
from npu_plans.kernels.row_blocks import WORDS

Rows: TypeAlias = tuple[Index, Index]
"""The kernel rows that lie on the map, a half-open range."""
Kept: TypeAlias = Callable[[Filters], Sequence[SSAValue]]
"""Computes what is kept of some pixels for a block of filters."""


@dataclass(frozen=True)
class Spot:
    """A window of a row: its column, and from which byte on it has its runs.

    `words`: those of a filter's row in front of its weights. `number`: that of its class of first
    values. `part`: what it has of its runs.
    """

    column: Index
    skipped: Index
    words: Index
    number: Index
    part: Part


def is_flat(layer: Layer, grid: Grid, pool: PoolAttr | None) -> bool:
    """Whether the loops run over all pixels as one row, as in a pointwise convolution."""
    return pool is None and grid.is_pointwise and grid.is_even and layer.has_even_pixels


def block_plan(grid: Grid, pool: PoolAttr | None) -> BlockPlan:
    """The plan of some windows."""
    axes = None if pool is None else pool.axes(grid.rows.outputs, grid.columns.outputs)
    return BlockPlan(grid.rows, grid.columns, grid.channels, grid.pixel, grid.line, axes)


class BlockKernel:
    """Builds the loops of one convolution; `grid` has the channels that one group reads."""

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        outputs: VectorOutputs,
        pool: PoolAttr | None,
        groups: Groups,
    ) -> None:
        self.is_flat = is_flat(layer, grid, pool)
        grid = grid.flat if self.is_flat else grid
        self.layer, self.grid, self.b, self.outputs = layer, grid, layer.b, outputs
        self.groups, self.count = groups, len(layer.bias) // groups.count
        self.plan = block_plan(grid, pool)
        SignedBytes(layer, map)  # moves the zero point of bytes without signs
        self.map = layer.vector(map)
        self.starts = Starts(layer, Classes(grid.rows), Classes(grid.columns))
        self.blocks = self.filter_blocks()
        self.first_channel: Index = 0
        self.first_filter: Index = 0

    def filter_blocks(self) -> FilterBlocks:
        """The table: scales, first values if all windows have the same ones, and weights."""
        layer, plan, kernel = self.layer, self.plan, self.grid.rows.kernel
        shape = len(layer.bias), -1, kernel, self.grid.columns.kernel
        weights = layer.weights.reshape(shape).transpose(0, 2, 3, 1)
        weights = weights.reshape(-1, kernel * plan.taps, plan.run)
        padded = np.pad(weights, ((0, 0), (0, 0), (0, -plan.run % BYTES)))
        vectors, alike = kernel * plan.whole, self.starts.is_plain
        runs = kernel * plan.taps, plan.tail
        own = layer, self.outputs, vectors, self.count
        return FilterBlocks(*own, weights=padded, alike=alike, runs=runs)

    def build(self) -> None:
        """Build a loop over the groups, and inside it over the rows of outputs."""
        b = self.b

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.first_channel = b.mul(group, self.groups.channels)
            self.first_filter = b.mul(group, self.count)
            self.blocks.group = group
            self.one_group()
            return ()

        b.loop(0, self.groups.count, one, hint="g")

    def one_group(self) -> None:
        """Visit all outputs row by row: those whose columns no padding cuts, then all others."""
        b, plan = self.b, self.plan
        rows = self.grid.rows if plan.pool is None else plan.pool[0]
        pairs = plan.pairs

        def one_row(row: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def some(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.inner(row, column)
                return ()

            for each in self.outputs.alike(pairs, PAIR):
                b.loop(each.start, each.stop, some, step=each.step, hint="ox")
            for each in plan.singles:
                self.borders(row, each)
            return ()

        b.loop(0, rows.outputs, one_row, hint="oy")

    def inner(self, row: Index, column: Index) -> None:
        """Compute two outputs whose columns no padding cuts, or a pooled one."""
        b, pool = self.b, self.plan.pool
        if pool is None:
            self.all_filters(row, column, [(self.whole(column), PAIR)])
            return
        axis, left = pool[1], window_start(b, pool[1], column)
        pixels = [
            (self.whole(b.add(left, at * axis.dilation)), min(PAIR, axis.kernel - at))
            for at in range(0, axis.kernel, PAIR)
        ]
        self.all_filters(row, column, pixels)

    def borders(self, row: Index, columns: tuple[int, ...]) -> None:
        """Compute one known output of a row, or two that have the same code."""
        known = [[self.known(each) for each in self.plan.pixels(column)] for column in columns]

        def one(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            pixels = [(self.mixed(index, each), 1) for each in zip(*known, strict=True)]
            self.all_filters(row, self.either(index, columns), pixels)
            return ()

        self.b.loop(0, len(columns), one, hint="i")

    def all_filters(self, row: Index, column: Index, pixels: Sequence[tuple[Spot, int]]) -> None:
        """Compute an output, or neighbouring ones, from pixels of which two may be neighbours."""
        b, pool = self.b, self.plan.pool
        kept = self.plain(row, pixels) if pool is None else self.pooled(row, pixels, pool[0])
        if isinstance(self.outputs, FoldedOutputs) and self.is_straight(column):
            self.outputs.put_all(map(self.folded(column, kept), self.blocks.straight()), row)
            return

        def block(first: Index, count: int) -> None:
            found, flat = self.blocks.one(first, count), self.is_flat
            # In front of the sums, which change the pointer that the scales have.
            filter, scales = b.add(self.first_filter, first), self.blocks.scales(found)
            self.outputs.put(kept(found), filter, count, row, column, flat=flat, scales=scales)

        self.layer.each_block(block, 0, self.count)

    def is_straight(self, column: Index) -> bool:
        """Whether all filters of folded outputs have straight code: their windows are found once.

        That is for the outputs of a loop along a row.
        """
        loops = self.groups.count == 1 and not isinstance(column, int)
        return loops and self.plan.is_straight(self.count, self.layer.op.repetitions)

    def folded(self, column: Index, kept: Kept) -> Callable[[Filters], tuple[Index, Block]]:
        """What is folded of some pixels from a column on, for a block of filters."""

        def found(block: Filters) -> tuple[Index, Block]:
            scales = self.blocks.scales(block)
            return column, (kept(block), block.first, block.count, scales)

        return found

    def plain(self, row: Index, pixels: Sequence[tuple[Spot, int]]) -> Kept:
        """What computes the sums of neighbouring pixels."""
        line = row, tap_range(self.b, self.grid.rows, row)
        ((spot, count),) = pixels
        return lambda block: self.sums(block, line, spot, count)

    def pooled(self, row: Index, pixels: Sequence[tuple[Spot, int]], axis: Axis) -> Kept:
        """What computes the maxima of all rows of a pooling window."""
        b, top = self.b, window_start(self.b, axis, row, "cy")

        def found(block: Filters) -> Sequence[SSAValue]:
            def one(wy: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                y = b.add(top, b.mul(wy, axis.dilation), "cy")
                line = y, tap_range(b, self.grid.rows, y)
                for spot, count in pixels:
                    best = self.outputs.greatest(best, self.sums(block, line, spot, count))
                return best

            lowest = self.outputs.lowest(block.count)
            return b.loop(*tap_range(b, axis, row), one, lowest, hint="wy", carry="best")

        return found

    # -- places ----------------------------------------------------------------------------------

    def whole(self, column: Index) -> Spot:
        """The spot of a window whose columns no padding cuts."""
        classes = self.starts.columns
        number = classes.number(self.b, classes.inside[0])
        return Spot(column, 0, 0, number, self.plan.whole_part)

    def known(self, column: int) -> Spot:
        """The spot of a window at a known column."""
        part, number = self.plan.part(column), self.starts.columns.number(self.b, column)
        words = self.blocks.plan.in_front(part.vector)
        return Spot(column, part.skipped, words, number, part)

    def mixed(self, index: Index, spots: Sequence[Spot]) -> Spot:
        """The spot of that number among some whose runs are equally long."""
        column = self.either(index, [spot.column for spot in spots])
        skipped = self.either(index, [spot.skipped for spot in spots])
        words = self.either(index, [spot.words for spot in spots])
        number = self.either(index, [spot.number for spot in spots])
        return Spot(column, skipped, words, number, spots[0].part)

    def either(self, index: Index, numbers: Sequence[Index]) -> Index:
        """The number at a place in a list of one or two."""
        first, last = numbers[0], numbers[-1]
        return self.b.add(first, self.b.mul(index, self.b.sub(last, first)))

    # -- sums ------------------------------------------------------------------------------------

    def sums(
        self, block: Filters, line: tuple[Index, Rows], spot: Spot, pixels: int
    ) -> Sequence[SSAValue]:
        """The sums of a block, a vector for each pixel; `line`: its row and the kernel's on it."""
        b, plan, (row, (low, high)) = self.b, self.plan, line
        part = spot.part
        at = b.add(self.grid.origin(b, row, spot.column), self.first_channel)
        at = b.add(b.add(at, spot.skipped), b.mul(low, self.grid.row_step))
        rows = self.blocks.plan
        step = block.count * rows.row // self.grid.rows.kernel
        first = b.add(block.place + rows.head * block.count, b.mul(low, step))
        count, down = b.sub(high, low), plan.down
        if plan.parts > 1:  # parts of the only row of the kernel are read like rows
            step = block.count * part.vectors // part.parts * WORDS
            count, down = part.parts, part.bytes
        first = b.add(first, b.mul(spot.words, block.count))
        apart = self.apart if pixels == PAIR else 0
        run = mve.Run(part.bytes, apart, down, step, block.count, part.lead, part.taps)
        run = replace(run, across=plan.across if part.taps > 1 else 0)
        run = replace(run, tail=plan.tail if plan.ends(part) else WORDS)
        run = replace(run, pitch=run.read) if count == 1 else run
        op = mve.MulRunsOp(
            (self.map, b.value(at)),
            (block.run, b.value(first)),
            self.first_values(block, row, spot),
            b.value(count),
            run,
            pixels,
        )
        return b.insert(op, "sums").sums

    @property
    def apart(self) -> int:
        """Bytes from a pixel to the next one that is computed beside it."""
        pool = self.plan.pool
        return self.grid.pitch * (1 if pool is None else pool[1].dilation)

    def first_values(
        self, block: Filters, row: Index, spot: Spot
    ) -> tuple[SSAValue, SSAValue] | None:
        """Where the first values of the sums at an output lie; None if all are zero."""
        b, plan = self.b, self.blocks.plan
        if plan.biases:
            return block.run, b.value(block.place + (plan.head - 1) * block.count)
        if self.starts.is_plain:
            return None
        filter = b.add(self.first_filter, block.first)
        return self.starts.table, b.value(self.starts.place_in(row, spot.number, filter))
