"""Pooled outputs of a convolution that are computed one after the other, with all of their window.

A pooled output needs no buffer: its convolution values live in registers until they are folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.ir import SSAValue

from npu_passes.lowering.conv_places import BlockOrigin
from npu_passes.lowering.conv_sums import ConvSums
from npu_passes.lowering.epilogue import Epilogue
from npu_passes.lowering.pool_window import PoolWindow
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.integers import store
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import Block, ConvPlan


@dataclass(frozen=True)
class Gather:
    """Builds pooled outputs: interior ones, those at the border, and single ones at any place."""

    b: LoopBuilder
    out: SSAValue
    plan: ConvPlan
    sums: ConvSums
    window: PoolWindow
    epilogue: Epilogue

    def block(
        self, place: BlockOrigin, biases: Sequence[SSAValue], row: Index, column: Index, _width: int
    ) -> None:
        """Compute one interior pooled output for each filter.

        No tap lies on padding, unless it is in a column that is known.
        """
        b, plan = self.b, self.plan
        rows, columns = self.window.axes
        y = window_start(b, rows, row, "cy")
        x, count = self.window_columns(column)
        size = rows.kernel * count
        if plan.window_at_once:
            starts = [bias for bias in biases for _ in range(size)]
            block = replace(plan.block, columns=count)
            sums = self.sums.block(place, starts, y, x, block)
            for filter in range(plan.block.filters):
                values = sums[filter * size : (filter + 1) * size]
                self.put(place, filter, row, column, self.window.pooled(values, row, column))
            return

        def one_value(
            filter: int, wy: Index, wx: Index, best: Sequence[SSAValue]
        ) -> list[SSAValue]:
            at_row = b.add(y, b.mul(wy, rows.dilation), "cy")
            at_column = b.add(x, b.mul(wx, columns.dilation), "cx")
            one = BlockOrigin(place.image, place.channel, place.filter, lane=filter)
            sums = self.sums.block(one, [biases[filter]], at_row, at_column, Block(1, 1, 1))
            return [self.window.folded(best[0], sums[0])]

        for filter in range(plan.block.filters):
            best = self.window.run_over(
                (0, rows.kernel), (0, columns.kernel), partial(one_value, filter)
            )
            self.put(place, filter, row, column, self.window.finished(best, row, column))

    def window_columns(self, column: Index) -> tuple[Index, int]:
        """The first convolution column of a pooled one, and their number in its window.

        Those on padding do not count; without a known column there are none.
        """
        axis = self.window.axes[1]
        start = window_start(self.b, axis, column, "cx")
        first, end = axis.taps(column) if isinstance(column, int) else (0, axis.kernel)
        return self.b.add(start, first * axis.dilation), end - first

    def edge(
        self, place: BlockOrigin, biases: Sequence[SSAValue], row: Index, column: Index, _width: int
    ) -> None:
        """Compute one pooled output for each filter, a row of its window at a time.

        Padding may cut rows; it may cut columns if the column is known.
        """
        b, plan = self.b, self.plan
        rows, _ = self.window.axes
        y = window_start(b, rows, row, "cy")
        x, count = self.window_columns(column)
        block = Block(plan.block.filters, 1, count)
        starts = [bias for bias in biases for _ in range(block.columns)]

        def one_row(wy: Index, bests: Sequence[SSAValue]) -> list[SSAValue]:
            at_row = b.add(y, b.mul(wy, rows.dilation), "cy")
            sums = self.sums.edge(place, starts, at_row, x, block)
            found = list(bests)
            for index, value in enumerate(sums):
                found[index // block.columns] = self.window.folded(
                    found[index // block.columns], value
                )
            return found

        lowest = [self.window.lowest()] * block.filters
        bests = b.loop(*tap_range(b, rows, row), one_row, lowest, hint="wy", carry="best")
        for filter, best in enumerate(bests):
            self.put(place, filter, row, column, self.window.finished(best, row, column))

    def point(
        self, place: BlockOrigin, biases: Sequence[SSAValue], row: Index, column: Index
    ) -> None:
        """Compute one pooled output at any place for each filter; padding is left out."""
        b = self.b
        rows, columns = self.window.axes
        y, x = window_start(b, rows, row, "cy"), window_start(b, columns, column, "cx")
        ranges = tap_range(b, rows, row), tap_range(b, columns, column)

        def one_value(
            filter: int, wy: Index, wx: Index, best: Sequence[SSAValue]
        ) -> list[SSAValue]:
            at_row = b.add(y, b.mul(wy, rows.dilation), "cy")
            at_column = b.add(x, b.mul(wx, columns.dilation), "cx")
            one = replace(place, lane=filter)
            (value,) = self.sums.points(one, [biases[filter]], at_row, at_column)
            return [self.window.folded(best[0], value)]

        for filter in range(self.plan.block.filters):
            best = self.window.run_over(*ranges, partial(one_value, filter))
            self.put(place, filter, row, column, self.window.finished(best, row, column))

    def put(
        self, place: BlockOrigin, filter: int, row: Index, column: Index, value: SSAValue
    ) -> None:
        """Store one pooled output; an average is activated already."""
        channel = self.b.add(place.filter, filter)
        if self.window.pool.is_max:
            value = self.epilogue(value, channel)
        store(self.b, value, self.out, (place.image, channel, row, column))
