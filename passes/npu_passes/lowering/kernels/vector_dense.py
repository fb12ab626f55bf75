"""Convolutions of bytes with channels last on a vector unit: 16 products and their sum at once.

A kernel row is a run of contiguous bytes, as in `dense.py`. Two neighbouring pixels and two filters
are computed together: four loads of 16 bytes, then four `mve.mla_across` (`vector_runs.py`). The
weights lie in the order [filter, kernel y, kernel x, channel], so any part of a kernel row is a
run, too; windows that padding cuts are runs that are shorter. If 16 does not divide a run, its last
load reads the rest only, and other lanes are zero. The weights behind them may be any. Or zeros
stand behind the weights, and the load reads on where the row of the map does (`long_runs.py`).

In pointwise layers of up to 64 channels pixels stay in registers (`vector_pixels.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu import PoolAttr
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.filter_blocks import FilterBlocks
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import ONE_GROUP, Groups
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_blocks import BlockKernel, block_plan, is_flat
from npu_passes.lowering.kernels.vector_outputs import Outputs, VectorOutputs
from npu_passes.lowering.kernels.vector_pixels import PixelBlocks, table_of
from npu_passes.lowering.kernels.vector_runs import BYTES, STRAIGHT, Filters, Pixels, Runs
from npu_passes.lowering.kernels.vector_starts import Classes, Starts
from npu_passes.lowering.kernels.vector_stores import outputs_of
from npu_passes.lowering.kernels.walk import visit
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Span, interior
from npu_plans.kernels.long_runs import LongRuns
from npu_plans.kernels.packing import PAIR, QUAD
from npu_plans.kernels.pixel_plan import PixelPlan, PixelTable

IN_REGISTERS, PACKED = 64, 240
"""The most channels of a single pixel that stays in registers, and of two that are packed."""
LEAST = 8
"""The shortest run, in bytes, for which the kernel is used. Shorter ones leave most lanes idle."""

Range: TypeAlias = tuple[Index, Index]


class VectorDenseKernel:
    """Builds the loops of one convolution; `grid` has the channels that one group reads."""

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        outputs: Outputs,
        pool: PoolAttr | None,
        groups: Groups,
        plan: PixelPlan | None,
    ) -> None:
        self.layer, self.grid, self.pool, self.groups = layer, grid, pool, groups
        self.b: LoopBuilder = layer.b
        self.rows, self.columns = grid.rows, grid.columns
        self.filters = len(layer.weights) // groups.count
        self.is_flat = is_flat(layer, grid, pool)
        self.pixels = pixels_of(grid, flat=self.is_flat)
        self.row_bytes = self.columns.kernel * grid.channels
        self.long = LongRuns(
            self.row_bytes,
            self.pixels,
            grid.pixel,
            grid.channels + (groups.count - 1) * groups.channels,
            (groups.count - 1) * groups.channels,
        )
        windows = layer.op.repetitions * self.rows.outputs * self.columns.outputs
        fast = layer.unit.form != "narrow"
        pays = self.is_close and fast and self.long.pays(self.rows.kernel, windows)
        self.outputs, self.plan = outputs, plan
        in_blocks = plan is not None and is_in_blocks(plan, layer, grid, flat=self.is_flat)
        if self.plan is not None and self.plan.padding > 0:
            pays = pays or in_blocks or (fast and self.plan.pays(windows))
            self.plan = self.plan if pays else None
        self.reads_on = pays
        self.row_taps = self.row_bytes + (self.long.padding if self.reads_on else 0)
        self.filter_bytes = self.rows.kernel * self.row_taps
        signed = SignedBytes(layer, map)  # moves the zero point of bytes without signs
        kernel = self.rows.kernel, self.columns.kernel
        weights = layer.weights.reshape(len(layer.weights), -1, *kernel).transpose(0, 2, 3, 1)
        weights = weights.reshape(-1, self.row_bytes)
        self.lead = 0 if self.plan is None else self.plan.lead
        self.table: PixelTable | FilterBlocks | None = None
        if self.plan is not None and in_blocks:
            assert isinstance(self.outputs, VectorOutputs)
            self.table, self.taps = table_of(layer, self.outputs, self.plan)
        else:
            padded = np.pad(weights, ((0, 0), (0, self.row_taps - self.row_bytes)))
            # The last load of the last filter reads on.
            self.taps = layer.table("taps", np.pad(padded.ravel(), (self.lead, BYTES - 1)))
        self.zero = layer.b.integer(0)
        self.run = Runs(
            layer.b, layer.vector(map), self.taps, signed, self.zero, not layer.unit.is_long
        )
        self.starts = Starts(layer, Classes(self.rows), Classes(self.columns))
        self.here = self.run
        self.first_channel: Index = 0
        self.first_filter: Index = 0
        if self.is_flat:
            layer.flatten()

    @staticmethod
    def fits(grid: Grid) -> bool:
        """Whether runs are long enough; `grid` has the channels of one group.

        Windows that padding cuts may have runs of one tap.
        """
        if grid.cuts_rows and grid.channels < QUAD:
            return False
        close = grid.columns.kernel == 1 or grid.step == grid.channels
        return grid.channels * (grid.columns.kernel if close else 1) >= LEAST

    @property
    def is_close(self) -> bool:
        """Whether a whole kernel row is one run."""
        return self.columns.kernel == 1 or self.grid.step == self.grid.channels

    @property
    def is_short(self) -> bool:
        """Whether a window is one run without loops: its first values are added behind it."""
        one = self.rows.kernel == 1 and self.is_close and not self.grid.cuts_rows
        return one and self.row_bytes // BYTES <= STRAIGHT

    def build(self) -> None:
        """Build a loop over the groups, inside it over the outputs, then over blocks of filters."""

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.first_channel = self.b.mul(group, self.groups.channels)
            self.first_filter = self.b.mul(group, self.filters)
            self.one_group()
            return ()

        self.b.loop(0, self.groups.count, one, hint="g")

    def one_group(self) -> None:
        """Build the loops of one group. Rows that padding cuts have fewer runs, but no own code."""
        axes = None
        if self.pool is not None:
            axes = self.pool.axes(self.rows.outputs, self.columns.outputs)
        if self.is_flat:
            columns = self.in_front(interior(self.pixels, None), None)
            first = self.blocks(columns)
            rest = Span(0, max(0, columns.high - first), columns.total - first)
            pair, point = partial(self.some, first, PAIR), partial(self.some, first, 1)
            visit(self.b, Span(0, 1, 1), rest, PAIR, pair, point)
            return
        if self.plan is not None:
            self.rows_of_blocks(self.plan)
            return
        total = self.rows.outputs if axes is None else axes[0].outputs
        rows = Span(0, total, total)
        pool = None if axes is None else axes[1]
        columns = self.in_front(interior(self.columns, pool), pool)
        if axes is None:
            visit(
                self.b, rows, columns, PAIR, partial(self.some, 0, PAIR), partial(self.some, 0, 1)
            )
        else:
            visit(self.b, rows, columns, 1, self.window, self.clipped_window)

    def pixel_blocks(self, plan: PixelPlan) -> PixelBlocks:
        """The blocks of pixels that stay in registers."""
        assert isinstance(self.outputs, VectorOutputs)
        own = self.run, self.filter_bytes
        return PixelBlocks(self.layer, *own, self.outputs, self.starts, plan, self.table)

    def blocks(self, columns: Span) -> int:
        """Compute blocks of all pixels in a row; returns the first pixel that is left."""
        if (plan := self.plan) is None:
            return 0
        all_ = plan.is_paired or self.table is not None
        return self.pixel_blocks(plan).build(columns.total if all_ else columns.high)

    def rows_of_blocks(self, plan: PixelPlan) -> None:
        """Compute all outputs in blocks of pixels of a row."""
        b, blocks = self.b, self.pixel_blocks(plan)

        def one(row: Index, _: Sequence[SSAValue]) -> tuple[()]:
            place = blocks.outputs.row(row)
            blocks.build(self.columns.outputs, b.mul(row, self.grid.row_pitch), place)
            return ()

        b.loop(0, self.rows.outputs, one, hint="oy")

    def in_front(self, columns: Span, pool: Axis | None) -> Span:
        """Those of some columns whose loads may read on, or whose pooled windows' loads may."""
        if not self.reads_on:
            return columns
        high = self.long.safe
        if pool is not None:
            high = (high - pool.reach + pool.before) // pool.stride + 1
        return replace(columns, high=min(columns.high, max(columns.low, high)))

    # -- sums ------------------------------------------------------------------------------------

    def sums(
        self,
        row: Index,
        column: Index,
        places: Sequence[int],
        filter: Index,
        count: int,
        *,
        inner: bool,
    ) -> list[SSAValue]:
        """What is kept of the sums of some pixels, for `count` filters.

        The first pixel is an output at any row and column. With others, `places` bytes behind it,
        no padding cuts the columns of the windows. `inner`: nor does it those of one, and their
        loads may read on.
        """
        b, sums = self.b, dict[tuple[int, int], SSAValue]()
        later = self.is_short and isinstance(self.outputs, VectorOutputs)
        base = b.add(self.grid.origin(b, row, column), self.first_channel)
        inside = len(places) > 1 or not self.grid.cuts_rows or (inner and self.reads_on)
        columns = None if inside else tap_range(b, self.columns, column)
        at = self.starts.columns.inside[0] if inside else column
        rows = tap_range(b, self.rows, row)
        for lane in range(-(-count // 2)):
            lanes = range(lane, count, -(-count // 2))
            first = [self.zero] * len(lanes)
            if not later:
                first = self.starts.of(row, at, filter, lanes)
            taps = b.add(b.mul(b.add(filter, lane), self.filter_bytes), self.lead)
            steps = [(each - lane) * self.filter_bytes for each in lanes]
            found = self.products(
                rows, columns, (base, places), (taps, steps), first * len(places), inner=inner
            )
            keys = [(pixel, each) for pixel in range(len(places)) for each in lanes]
            sums.update(zip(keys, found, strict=True))
        kept = self.outputs.kept([sums[key] for key in sorted(sums)], len(places))
        start = self.starts.vector(row, at, filter, count) if later else None
        if start is None:
            return kept
        return [b.insert(mve.AddOp(each, start), "sums").result for each in kept]

    def products(
        self,
        rows: Range,
        columns: Range | None,
        pixels: Pixels,
        filters: Filters,
        sums: Sequence[SSAValue],
        *,
        inner: bool,
    ) -> Sequence[SSAValue]:
        """Add the products of some kernel rows and columns; all columns if they are None."""
        b, (base, places), (first, steps) = self.b, pixels, filters
        channels, (low, high) = self.grid.channels, columns or (0, self.columns.kernel)

        def run(
            at: Index, taps: Index, length: Index, sums: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            on = inner and self.reads_on
            return self.here.add((at, places), (taps, steps), length, sums, reads_on=on)

        def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = b.add(base, b.mul(ky, self.grid.row_step))
            taps = b.add(first, b.mul(ky, self.row_taps))
            if self.is_close and (columns is None or channels % BYTES == 0):
                left, width = b.mul(low, channels), b.mul(b.sub(high, low), channels)
                return run(b.add(at, left), b.add(taps, left), width, sums)

            def one_tap(kx: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                x, w = b.mul(kx, self.grid.step), b.mul(kx, channels)
                return run(b.add(at, x), b.add(taps, w), channels, sums)

            return b.loop(low, high, one_tap, sums, hint="kx", carry="acc")

        return b.loop(*rows, one_row, sums, hint="ky", carry="acc")

    # -- outputs ---------------------------------------------------------------------------------

    def some(self, first: int, pixels: int, row: Index, column: Index) -> None:
        """Compute some neighbouring outputs, for all filters; columns count from the `first` one.

        Those of more than one pixel lie inside of the map, and their loads may read on.
        """
        column, inner = self.b.add(column, first), pixels > 1
        places = [self.grid.pitch * p for p in range(pixels)]
        self.here = self.run
        if self.is_short and self.reads_on:
            taps = self.b.insert(dsp.OpaqueOp(self.taps), "taps").result
            self.here = replace(self.run, taps=taps)

        def block(filter: Index, count: int) -> None:
            kept = self.sums(row, column, places, filter, count, inner=inner)
            self.outputs.put(kept, filter, count, row, column, flat=self.is_flat)

        self.layer.each_block(block, self.first_filter, self.filters)

    def window(self, row: Index, column: Index) -> None:
        """Compute one pooled output whose columns no padding cuts, two pixels at a time."""
        self.pooled(row, column, PAIR)

    def clipped_window(self, row: Index, column: Index) -> None:
        """Compute one pooled output at any place."""
        self.pooled(row, column, 1)

    def pooled(self, row: Index, column: Index, width: int) -> None:
        """Compute one pooled output, `width` pixels of its window at a time."""
        assert self.pool is not None
        b = self.b
        ys, xs = self.pool.axes(self.rows.outputs, self.columns.outputs)
        top, left = window_start(b, ys, row, "cy"), window_start(b, xs, column, "cx")
        columns = tap_range(b, xs, column) if width == 1 else (0, xs.kernel)
        across = xs.dilation * self.grid.pitch

        def block(filter: Index, count: int) -> None:
            def one_row(wy: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                y = b.add(top, b.mul(wy, ys.dilation), "cy")

                def some(wx: Index, best: Sequence[SSAValue], pixels: int) -> list[SSAValue]:
                    x = b.add(left, b.mul(wx, xs.dilation), "cx")
                    places = [across * p for p in range(pixels)]
                    kept = self.sums(y, x, places, filter, count, inner=width > 1)
                    return self.outputs.greatest(best, kept)

                if width == 1:
                    return b.loop(*columns, lambda wx, s: some(wx, s, 1), best, hint="wx")
                for wx in range(0, xs.kernel, width):
                    best = some(wx, best, min(width, xs.kernel - wx))
                return best

            lowest = self.outputs.lowest(count)
            rows = tap_range(b, ys, row)
            found = b.loop(*rows, one_row, lowest, hint="wy", carry="best")
            self.outputs.put(found, filter, count, row, column)

        self.layer.each_block(block, self.first_filter, self.filters)


def pixels_of(grid: Grid, *, flat: bool) -> Axis:
    """The windows of a row; if the loops run over all pixels as one row, of all of them."""
    return grid.flat.columns if flat else grid.columns


def is_in_blocks(plan: PixelPlan, layer: Layer, grid: Grid, *, flat: bool) -> bool:
    """Whether all pixels are in blocks, and one table has all constants."""
    times = layer.op.repetitions * (1 if flat else grid.rows.outputs)
    return plan.takes_all(pixels_of(grid, flat=flat).outputs, times * len(layer.weights))


def pixel_plan(
    layer: Layer, grid: Grid, outputs: Outputs, pool: PoolAttr | None, groups: Groups
) -> PixelPlan | None:
    """How pixels stay in registers; None if they do not.

    If flash is short, all pixels must, as others have code of their own.
    """
    flat = is_flat(layer, grid, pool)
    if groups.count > 1 or not (flat or (pool is None and takes_pixels(grid))):
        return None
    count = pixels_of(grid, flat=flat).outputs
    apart = count == 1 or (isinstance(outputs, VectorOutputs) and outputs.addition is not None)
    apart = apart and grid.channels <= BYTES
    for packs in (True, False):
        plan = PixelPlan(grid.channels, grid.pitch, packs, apart)
        if not PixelBlocks.fits(plan, outputs):
            continue
        whole = count % plan.pixels == 0
        in_blocks = is_in_blocks(plan, layer, grid, flat=flat)
        if not flat:
            return plan if whole and plan.padding == 0 and in_blocks else None
        if not layer.unit.is_long and not whole:
            continue
        if in_blocks or not (packs or apart):
            return plan
    return None


def takes_pixels(grid: Grid) -> bool:
    """Whether each output reads one pixel, which is on the map."""
    axes = grid.rows, grid.columns
    return all(axis.kernel == 1 and axis.interior() == (0, axis.outputs) for axis in axes)


def vector_dense(
    layer: Layer,
    map: SSAValue,
    grid: Grid,
    pool: PoolAttr | None = None,
    groups: Groups = ONE_GROUP,
) -> VectorDenseKernel | BlockKernel:
    """The kernel of a convolution whose windows are runs of bytes."""
    outputs = outputs_of(layer)
    plan = pixel_plan(layer, grid, outputs, pool, groups)
    if layer.unit.is_long and isinstance(outputs, VectorOutputs):
        if block_plan(grid, pool).fits and not beats_blocks(plan, grid):
            return BlockKernel(layer, map, grid, outputs, pool, groups)
    return VectorDenseKernel(layer, map, grid, outputs, pool, groups, plan)


def beats_blocks(plan: PixelPlan | None, grid: Grid) -> bool:
    """Whether pixels stay in registers, or are packed, where that takes less than runs."""
    single = grid.rows.outputs == grid.columns.outputs == 1
    return plan is not None and grid.channels <= (IN_REGISTERS if single else PACKED)
