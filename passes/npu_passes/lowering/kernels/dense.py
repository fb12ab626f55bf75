"""Convolutions of integers with their channels last: runs of elements times repacked weights.

In the interior, two neighbouring pixels and four filters are computed together. A core with 16
registers can hold their eight sums besides two pointers. The zero point is folded into the bias.
Outputs at the border are computed one by one. There, the zero point is subtracted from each byte,
so that padding counts as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect.npu import PoolAttr
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.groups import ONE_GROUP, Groups
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import DualUnit, MixedUnit, Taps
from npu_passes.lowering.kernels.walk import Visit, visit
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Span, divisor, interior
from npu_plans.kernels.packing import QUAD, mixes, pack_runs, quad_size, quads_of


@dataclass(frozen=True)
class RowRuns:
    """A kernel row as `count` runs of `length` bytes, which start `step` bytes apart."""

    count: int
    length: int
    step: int

    @staticmethod
    def of(grid: Grid) -> RowRuns | None:
        """One run for a whole kernel row if possible, else one run for each tap.

        None if the runs would be shorter than a quad of 4 bytes. A row that padding can cut is cut
        between taps, so the channels of a tap must then be whole quads.
        """
        columns, channels = grid.columns, grid.channels
        whole = columns.kernel * channels
        padded = columns.interior() != (0, columns.outputs)
        close = columns.kernel == 1 or grid.step == channels
        if close and whole >= QUAD and not (padded and channels % QUAD):
            return RowRuns(1, whole, 0)
        if channels < QUAD:
            return None
        return RowRuns(columns.kernel, channels, grid.step)


def turn_of(quads: int, most: int) -> int:
    """How many quads one iteration of a loop handles, at most `most`.

    It is the largest divisor of `quads`, unless that is less than half of `most`.
    """
    even = divisor(quads, most)
    return even if 2 * even >= most else max(1, most // 2)


class DenseKernel:
    """Builds the loops of one convolution, or of a fully connected layer as one of one pixel.

    With groups, these are inside a loop over the groups. `grid` has the channels that one group
    reads.
    """

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        runs: RowRuns,
        pool: PoolAttr | None = None,
        groups: Groups = ONE_GROUP,
    ) -> None:
        self.layer, self.grid, self.runs, self.pool = layer, grid, runs, pool
        # Gaps between pixels, as with groups, take one more register, and so do packed weights.
        layer.joins_early = grid.pixel == grid.channels and layer.unit.form != "narrow"
        self.b: LoopBuilder = layer.b
        self.rows, self.columns = grid.rows, grid.columns
        self.groups, self.filters = groups, len(layer.weights) // groups.count
        self.patch = layer.vector(map)
        kernel = self.rows.kernel, self.columns.kernel
        weights = layer.weights.reshape(len(layer.weights), -1, *kernel)
        rows = groups.widened(weights).transpose(0, 2, 3, 1)
        each = (groups.count, self.filters, self.rows.kernel * runs.count, runs.length)
        in_runs = np.ascontiguousarray(rows).reshape(each)
        self.span, self.interior_rows = (0, self.rows.kernel), interior(self.rows, None)
        if pool is None:
            self.span, self.interior_rows = layer.count_rows(self.rows)
        self.mix(in_runs)
        packed = [pack_runs(group, layer.unit.form, layer.unit.order) for group in in_runs]
        self.taps = layer.table("taps", np.concatenate(packed))
        self.first_channel: Index = 0
        self.first_filter: Index = 0
        if self.is_flat:
            layer.flatten()

    def mix(self, weights: NDArray[np.int8]) -> None:
        """Let half of each word stay packed if no window is cut and the weights allow that.

        `weights`: [groups, filters, runs, length].
        """
        layer, pool = self.layer, self.pool
        axes = () if pool is None else pool.axes(self.rows.outputs, self.columns.outputs)
        cut = self.cuts or any(axis.before or axis.after or axis.ceil for axis in axes)
        # The unit of 16-bit maps has words of two elements, which need no unpacking at all.
        if cut or type(layer.unit) is not DualUnit or layer.unit.form != "wide":
            return
        if mixes(weights):
            layer.unit = unit = MixedUnit(self.b, self.patch, layer.zero_point)
            low, high = (row * self.runs.count for row in self.span)
            layer.surplus = unit.surplus(
                weights[:, :, low:high].reshape(-1, high - low, weights.shape[-1])
            )

    @property
    def cuts(self) -> bool:
        """Whether padding cuts some windows."""
        return self.grid.cuts_rows or not self.interior_rows.whole

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The bytes in a run at which its quads start."""
        return quads_of(self.runs.length)

    @property
    def is_flat(self) -> bool:
        """Whether the loops run over all pixels as one row, as in a pointwise convolution."""
        even = self.grid.is_even and self.layer.has_even_pixels
        return self.pool is None and self.grid.is_pointwise and even

    def build(self) -> None:
        """Build a loop over the groups, inside it over the outputs, then over blocks of filters."""

        def one(group: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.first_channel = self.groups.first_channel(self.b, group)
            self.first_filter = self.b.mul(group, self.filters)
            self.one_group()
            return ()

        self.b.loop(0, self.groups.count, one, hint="g")

    def one_group(self) -> None:
        """Build the loops of one group."""
        if self.pool is not None:
            axes = self.pool.axes(self.rows.outputs, self.columns.outputs)
            spans = interior(self.rows, axes[0]), interior(self.columns, axes[1])
            visit(self.b, *spans, 1, self.window, self.clipped_window)
        elif self.is_flat:
            count = self.rows.size * self.columns.size
            self.visit(Span(0, 1, 1), Span(0, count, count), self.inner_point)
        else:
            spans = self.interior_rows, interior(self.columns, None)
            point = self.point if self.cuts else self.inner_point
            self.visit(*spans, point)

    def visit(self, rows: Span, columns: Span, point: Visit) -> None:
        """Visit all outputs, in the interior as many pixels at a time as the unit says."""
        width = self.layer.unit.pixels_of(max(0, columns.high - columns.low))

        def block(row: Index, column: Index) -> None:
            self.outputs(row, column, width)

        visit(self.b, rows, columns, width, block, point)

    def first_tap(self, filter: Index) -> Index:
        """The element of the table at which the weights of a block of filters start."""
        per_filter = quad_size(self.layer.unit.form, 1) * len(self.starts)
        return self.b.mul(filter, per_filter * self.rows.kernel * self.runs.count)

    def origin(self, row: Index, column: Index) -> Index:
        """The place of the first channel of the first tap of an output."""
        return self.b.add(self.grid.origin(self.b, row, column), self.first_channel)

    def each_block(self, body: Callable[[Index, int], None]) -> None:
        """Visit the blocks of filters of a group."""
        self.layer.each_block(body, self.first_filter, self.filters)

    # -- sums ------------------------------------------------------------------------------------

    def whole(
        self, base: Index, pixels: Sequence[int], first: Index, sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Sums over all kernel rows that count; the first pixel's window starts at byte `base`.

        `pixels`: the byte offsets of the windows from there. `first`: the first weight.
        """
        less_zero = not self.layer.folds
        return self.over_rows(self.span, base, pixels, first, sums, less_zero=less_zero)

    def over_rows(
        self,
        rows: tuple[Index, Index],
        base: Index,
        pixels: Sequence[int],
        first: Index,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
    ) -> Sequence[SSAValue]:
        """Sums over some whole kernel rows; `less_zero` subtracts the zero point from each byte."""
        b, runs = self.b, self.runs
        size = quad_size(self.layer.unit.form, len(sums) // len(pixels)) * len(self.starts)
        straight = self.rows.kernel * runs.count * len(self.starts) <= self.layer.unit.straight

        def one(row: Index, run: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = b.add(b.add(base, b.mul(row, self.grid.row_step)), b.mul(run, runs.step))
            number = b.add(b.mul(row, runs.count), run)
            taps = b.add(first, b.mul(number, size))
            return self.over_run(at, pixels, taps, sums, less_zero=less_zero)

        def one_row(row: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(0, runs.count, lambda run, s: one(row, run, s), sums, hint="kx")

        low, high = rows
        if straight and isinstance(low, int) and isinstance(high, int):
            for row in range(low, high):
                for run in range(runs.count):
                    sums = one(row, run, sums)
            return sums
        return b.loop(*rows, one_row, sums, hint="ky", carry="acc")

    def over_run(
        self,
        base: Index,
        pixels: Sequence[int],
        first: Index,
        sums: Sequence[SSAValue],
        *,
        less_zero: bool,
        starts: Sequence[int] | None = None,
    ) -> Sequence[SSAValue]:
        """Sums over one run: a loop over chunks of quads, then the remaining quads."""
        b, unit = self.b, self.layer.unit
        starts = self.starts if starts is None else starts
        size = quad_size(unit.form, len(sums) // len(pixels))
        aligned = sum(start % QUAD == 0 for start in starts)
        chunk = turn_of(aligned, unit.chunk)

        def some(
            at: Index, taps: Index, quads: Sequence[int], sums: Sequence[SSAValue]
        ) -> list[SSAValue]:
            reach = pixels[-1] + quads[-1] + QUAD
            patch = b.window(self.patch, [at], [reach], [0], "patch")
            return unit.quads(
                patch, pixels, quads, Taps(self.taps, taps), sums, less_zero=less_zero
            )

        def turn(quad: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            at, taps = b.add(base, b.mul(quad, QUAD)), b.add(first, b.mul(quad, size))
            return some(at, taps, [QUAD * k for k in range(chunk)], sums)

        if len(starts) <= unit.straight:
            return some(base, first, starts, sums)
        even = aligned // chunk * chunk
        sums = b.loop(0, even, turn, sums, step=chunk, hint="k", carry="acc")
        if even == len(starts):
            return sums
        # If the run is just longer than the loop covers, only the overlapping last quad is left.
        rest = starts[even:]
        at, taps = b.add(base, rest[0]), b.add(first, even * size)
        return some(at, taps, [start - rest[0] for start in rest], sums)

    def clipped(
        self, row: Index, column: Index, first: Index, sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Sums at one output at any place, with the zero point subtracted from each byte."""
        b = self.b
        base, rows = self.origin(row, column), tap_range(b, self.rows, row)
        if not self.grid.cuts_rows:
            return self.over_rows(rows, base, [0], first, sums, less_zero=True)
        columns = tap_range(b, self.columns, column)
        taps = quads_of(self.grid.channels)
        size = quad_size(self.layer.unit.form, len(sums)) * len(taps)

        def one(ky: Index, kx: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = b.add(b.add(base, b.mul(ky, self.grid.row_step)), b.mul(kx, self.grid.step))
            number = b.add(b.mul(ky, self.columns.kernel), kx)
            return self.over_run(
                at, [0], b.add(first, b.mul(number, size)), sums, less_zero=True, starts=taps
            )

        def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(*columns, lambda kx, s: one(ky, kx, s), sums, hint="kx", carry="acc")

        return b.loop(*rows, one_row, sums, hint="ky", carry="acc")

    # -- outputs ---------------------------------------------------------------------------------

    def inner_point(self, row: Index, column: Index) -> None:
        """Compute one interior output, for all filters."""
        self.outputs(row, column, 1)

    def outputs(self, row: Index, column: Index, pixels: int) -> None:
        """Compute `pixels` neighbouring interior outputs, for all filters."""
        base = self.origin(row, column)
        places = [self.grid.pitch * p for p in range(pixels)]

        def block(filter: Index, count: int) -> None:
            starts = self.layer.biases(filter, range(count), folded=True) * pixels
            sums = self.whole(base, places, self.first_tap(filter), starts)
            self.layer.put(sums, filter, row, column, range(count), flat=self.is_flat)

        self.each_block(block)

    def point(self, row: Index, column: Index) -> None:
        """Compute one output at any place, for all filters."""

        def block(filter: Index, count: int) -> None:
            starts = self.layer.biases(filter, range(count), folded=False)
            sums = self.clipped(row, column, self.first_tap(filter), starts)
            self.layer.put(sums, filter, row, column, range(count))

        self.each_block(block)

    # -- with a pooling window ---------------------------------------------------------------------

    def pool_axes(self) -> tuple[Axis, Axis]:
        """The pooling windows along rows and columns; the layer must have some."""
        assert self.pool is not None
        return self.pool.axes(self.rows.outputs, self.columns.outputs)

    def window(self, row: Index, column: Index) -> None:
        """Compute one interior pooled output, some pixels of its window at a time."""
        b, (ys, xs) = self.b, self.pool_axes()
        together = self.layer.unit.pixels_of(xs.kernel)
        base = self.origin(window_start(b, ys, row, "cy"), window_start(b, xs, column, "cx"))
        down = ys.dilation * self.grid.row_pitch
        across = xs.dilation * self.grid.pitch

        def block(filter: Index, count: int) -> None:
            first = self.first_tap(filter)

            def one_row(wy: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                line = b.add(base, b.mul(wy, down))
                for wx in range(0, xs.kernel, together):
                    width = min(together, xs.kernel - wx)
                    starts = self.layer.biases(filter, range(count), folded=True) * width
                    places = [across * p for p in range(width)]
                    sums = self.whole(b.add(line, wx * across), places, first, starts)
                    best = self.layer.best(best, sums)
                return best

            self.layer.put_greatest((0, ys.kernel), one_row, filter, count, row, column)

        self.each_block(block)

    def clipped_window(self, row: Index, column: Index) -> None:
        """Compute one pooled output at any place."""
        b, (ys, xs) = self.b, self.pool_axes()
        top, left = window_start(b, ys, row, "cy"), window_start(b, xs, column, "cx")
        rows, columns = tap_range(b, ys, row), tap_range(b, xs, column)

        def block(filter: Index, count: int) -> None:
            first = self.first_tap(filter)

            def one(wy: Index, wx: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                y = b.add(top, b.mul(wy, ys.dilation), "cy")
                x = b.add(left, b.mul(wx, xs.dilation), "cx")
                starts = self.layer.biases(filter, range(count), folded=False)
                return self.layer.best(best, self.clipped(y, x, first, starts))

            def one_row(wy: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return b.loop(*columns, lambda wx, s: one(wy, wx, s), best, hint="wx")

            self.layer.put_greatest(rows, one_row, filter, count, row, column)

        self.each_block(block)
