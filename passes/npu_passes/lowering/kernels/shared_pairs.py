"""Depthwise convolutions of bytes with several filters a channel, which share pairs of elements.

Single elements of a channel are loaded, and two neighbours become the halves of a word, which all
filters of a block multiply (`pair_plan.py`). So maps may have any layout. The loop over channels is
the innermost one where channels lie side by side, but rows of outputs may be computed channel by
channel; where they are planes, it is the outermost one.

Elements on padding are the zero point, and kernel rows on padding are left out. The zero point is
part of the first values of sums, of which a filter has one for each set of kernel rows that padding
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import DualUnit
from npu_passes.lowering.kernels.vector_starts import Classes, Starts
from npu_passes.lowering.kernels.walk import each_row, visit_columns
from npu_passes.support.common import tap_range, window_start
from npu_passes.support.integers import widened
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.conv_plan import cut_rows, interior
from npu_plans.kernels.pair_plan import (
    STRAIGHT,
    RowOfPairs,
    Turn,
    ends_of_row,
    pack_pairs,
    takes_rows,
    width_of,
)


@dataclass(frozen=True)
class Filters:
    """A block of filters: its channel, and its number among all blocks."""

    channel: Index
    block: Index


@dataclass(frozen=True)
class Line:
    """A row of outputs; `inside`: no kernel row lies on padding."""

    row: Index
    inside: bool


@dataclass(frozen=True)
class Views:
    """Views of some kernel rows: `patch` of the input, and `taps` of the weights.

    Outputs need `elements` of a row, of which those of `span` are on the map. The patch begins with
    the first of these.
    """

    patch: SSAValue
    taps: SSAValue
    elements: int
    span: tuple[int, int]


class SharedPairsKernel:
    """Builds the loops of one depthwise convolution."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid, row: RowOfPairs) -> None:
        assert isinstance(layer.unit, DualUnit)
        self.layer, self.grid, self.row, self.b = layer, grid, row, layer.b
        self.unit, self.rows, self.columns = layer.unit, grid.rows, grid.columns
        self.blocks = layer.filters_of_each(grid.channels) // row.filters
        weights = layer.weights.reshape(-1, self.rows.kernel, self.columns.kernel)
        self.taps = layer.table("taps", pack_pairs(weights, row))
        self.patch = layer.vector(map)
        whole = Axis(self.columns.kernel, self.columns.kernel)
        self.starts = Starts(layer, Classes(self.rows), Classes(whole))

    def build(self) -> None:
        """Build the loops."""
        if self.grid.apart == 1:
            self.each_line(self.line)
        else:
            self.each_block(lambda of: self.each_line(lambda line: self.line_of(of, line)))

    # -- loops -----------------------------------------------------------------------------------

    def each_line(self, body: Callable[[Line], None]) -> None:
        """Build a loop over the rows of outputs."""

        def one(row: Index, inside: bool) -> tuple[()]:
            body(Line(row, inside))
            return ()

        each_row(self.b, interior(self.rows, None), one)

    def each_column(self, body: Callable[[Index, int], None]) -> None:
        """Build a loop over the columns of a row: `body` gets the first one, and their number."""
        width = width_of(self.columns, self.row)
        ends = ends_of_row(self.columns, width)
        assert ends is not None
        straight = STRAIGHT if takes_rows(self.columns) else 1
        visit_columns(self.b, interior(self.columns, None), width, ends, body, straight)

    def each_block(self, body: Callable[[Filters], None]) -> None:
        """Build loops over channels, and over the blocks of their filters."""
        b = self.b

        def one(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def some(block: Index, _: Sequence[SSAValue]) -> tuple[()]:
                body(Filters(channel, b.add(b.mul(channel, self.blocks), block)))
                return ()

            b.loop(0, self.blocks, some, hint="j")
            return ()

        b.loop(0, self.grid.channels, one, hint="c")

    def line(self, line: Line) -> None:
        """Compute a row of outputs of all filters."""
        if takes_rows(self.columns):
            self.each_block(lambda of: self.line_of(of, line))
            return

        def some(column: Index, width: int) -> None:
            self.each_block(lambda of: self.some(of, line, column, width))

        self.each_column(some)

    def line_of(self, of: Filters, line: Line) -> None:
        """Compute a row of outputs of a block of filters."""
        self.each_column(lambda column, width: self.some(of, line, column, width))

    # -- outputs ---------------------------------------------------------------------------------

    def some(self, of: Filters, line: Line, column: Index, width: int) -> None:
        """Compute `width` outputs of a row, as many at a time as registers hold."""
        for first in range(0, width, self.row.outputs):
            count = min(self.row.outputs, width - first)
            self.outputs(of, line, self.b.add(column, first), count)

    def outputs(self, of: Filters, line: Line, column: Index, width: int) -> None:
        """Compute `width` neighbouring outputs of a row together."""
        b, filter = self.b, self.b.mul(of.block, self.row.filters)
        rows = (0, self.rows.kernel) if line.inside else tap_range(b, self.rows, line.row)
        straight = self.rows.kernel if line.inside else cut_rows(self.rows)
        sums: Sequence[SSAValue] = self.first(line, filter) * width

        def views(ky: Index, count: int) -> Views:
            return self.views(of, line.row, column, width, (ky, count))

        def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.kernel_row(views(ky, 1), 0, sums)

        if straight:  # one pointer for all rows
            seen = views(rows[0], straight)
            for ky in range(straight):
                sums = self.kernel_row(seen, ky, sums)
        else:
            sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
        self.put(sums, filter, line.row, column)

    def put(self, sums: Sequence[SSAValue], filter: Index, row: Index, column: Index) -> None:
        """Store sums, which are ordered by output, then by filter."""
        filters = self.row.filters
        if not self.layer.stores_rows:
            self.layer.put(sums, filter, row, column, range(filters))
            return
        for each in range(filters):
            self.layer.put_along(sums[each::filters], self.b.add(filter, each), row, column)

    def first(self, line: Line, filter: Index) -> list[SSAValue]:
        """The first values of the sums of a block of filters."""
        b, starts, count = self.b, self.starts, self.row.filters
        table, at = self.layer.folded if starts.is_plain else starts.table, filter
        if table is None:
            return self.layer.loaded(None, filter, range(count))
        if not starts.is_plain:
            number = starts.rows.inside[0] if line.inside else starts.rows.number(b, line.row)
            at = b.add(b.mul(number, len(self.layer.bias)), filter)
        return self.unit.loaded(b.window(table, [at], [count], [0], "starts"), 0, count)

    def views(
        self, of: Filters, row: Index, column: Index, width: int, rows: tuple[Index, int]
    ) -> Views:
        """Views of kernel rows, given by the first one and their number, for some outputs."""
        b, grid, size, (ky, count) = self.b, self.grid, self.row.size, rows
        low, high = 0, (elements := self.row.elements(width))
        if isinstance(column, int):
            start = self.columns.start(column)
            low, high = max(0, -start), min(high, self.columns.size - start)
        y = b.add(window_start(b, self.rows, row), b.mul(ky, self.rows.dilation))
        x = b.add(window_start(b, self.columns, column), low)
        at = b.add(b.mul(y, grid.line), b.mul(x, grid.pixel))
        at = b.add(at, b.mul(of.channel, grid.apart))
        reach = (count - 1) * grid.row_step + (high - low - 1) * grid.pixel + 1
        first = b.add(b.mul(of.block, self.rows.kernel * size), b.mul(ky, size))
        patch = b.window(self.patch, [at], [reach], [0], "patch")
        taps = b.window(self.taps, [first], [count * size], [0], "taps")
        return Views(patch, taps, elements, (low, high))

    # -- products --------------------------------------------------------------------------------

    def kernel_row(self, views: Views, number: int, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """Add kernel row `number` of the views to the sums.

        C compilers would load words of other turns ahead, for which there are no registers.
        """
        b, found, at = self.b, list(sums), number * self.row.size
        turns = self.row.turns_of(len(sums) // self.row.filters)
        words: dict[int, SSAValue] = {}
        weights: dict[tuple[int, int], SSAValue] = {}
        for index, turn in enumerate(turns):
            new = [word for word in turn.words if word not in words]
            words |= {word: self.word(views, number, word) for word in new}
            for load in self.row.loads:
                if load.before == index:
                    if any(turns[place].products for place, _ in load.words):
                        b.insert(dsp.KeepOrderOp())
                        loaded = self.unit.loaded(views.taps, at, len(load.words))
                        weights.update(zip(load.words, loaded, strict=True))
                    at += len(load.words)
                for place, filter in load.words:
                    if place == index and turn.products:
                        self.products(turn, filter, words, weights[index, filter], found)
            b.insert(dsp.KeepOrderOp())
        return found

    def products(
        self,
        turn: Turn,
        filter: int,
        words: dict[int, SSAValue],
        weight: SSAValue,
        sums: list[SSAValue],
    ) -> None:
        """Add the products of a turn with the weights of a filter to the sums."""
        for each in turn.products:
            at = each.output * self.row.filters + filter
            word, total = words[each.word], sums[at]
            if each.halves:
                op = dsp.SmlaOp(word, weight, total, each.halves)
            else:
                op = dsp.SmladOp(word, weight, total)
            sums[at] = self.b.insert(op, "acc").result

    def word(self, views: Views, number: int, first: int) -> SSAValue:
        """Two neighbouring elements of a kernel row as a word, or one if it is the last one."""
        low, high = views.span
        both = range(first, min(first + 2, views.elements))
        if all(not low <= each < high for each in both):
            return self.unit.both(self.layer.zero_point)
        value = self.element(views, number, first)
        if len(both) == 1:
            return value
        other = self.element(views, number, first + 1)
        return self.b.insert(dsp.PackOp(value, other), "x").result

    def element(self, views: Views, number: int, place: int) -> SSAValue:
        """An element of a kernel row; the zero point on padding."""
        low, high = views.span
        if not low <= place < high:
            return self.b.integer(self.layer.zero_point)
        at = number * self.grid.row_step + (place - low) * self.grid.pixel
        return widened(self.b, self.b.load(views.patch, [at], "x"), "x")
