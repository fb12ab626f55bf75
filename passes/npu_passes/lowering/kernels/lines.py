"""Depthwise convolutions of integers over lines: rows of one channel in a working memory.

Four neighbouring outputs of a channel share their words and weights (`line_plan.py`). The zero
point fills the padding of each line, and is folded into the bias of all windows. So no output has
code of its own.

    for c = 0 to C
      gather the first lines
      for strip = 0 to strips
        gather the other lines
        for the filters of c: for each row: four outputs at a time
        move the last lines to the start
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import i16
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import DualUnit
from npu_passes.support.integers import store, widened
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.line_plan import LinePlan, groups, pack_lines, steps

AT_ONCE = 8
"""Elements that are gathered in straight-line code."""
KEPT = 8
"""The most words of weights that are loaded in front of the loops over rows and columns."""


@dataclass(frozen=True)
class Taps:
    """The bias of a filter, and what gives a word of its weights by its number."""

    bias: SSAValue
    word: Callable[[int], SSAValue]


class LinesKernel:
    """Builds the loops of one depthwise convolution with a working memory, `scratch`."""

    def __init__(
        self, layer: Layer, map: SSAValue, grid: Grid, scratch: SSAValue, plan: LinePlan
    ) -> None:
        self.layer, self.grid, self.plan, self.b = layer, grid, plan, layer.b
        self.scratch, self.map = scratch, layer.vector(map)
        rows, columns = grid.rows.kernel, grid.columns.kernel
        weights = layer.weights.reshape(-1, rows, columns)
        self.multiplier = len(weights) // grid.channels
        words = pack_lines(weights, odd=grid.columns.stride % 2 == 1)
        self.words = words.shape[-1]
        self.taps = layer.table("taps", words.reshape(-1))

    def build(self) -> None:
        """Build the loops."""
        b, plan = self.b, self.plan
        self.fill(0, plan.elements)

        def one(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.channel(channel)
            return ()

        b.loop(0, self.grid.channels, one, hint="c")

    def channel(self, channel: Index) -> None:
        """Compute the outputs of a channel, strip by strip."""
        b, plan = self.b, self.plan
        self.gather(channel, 0, 0, plan.kept)

        def one(strip: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.gather(channel, strip, plan.kept, plan.lines)

            def filters(j: Index, _: Sequence[SSAValue]) -> tuple[()]:
                self.rows(b.add(b.mul(channel, self.multiplier), j), strip)
                return ()

            b.loop(0, self.multiplier, filters, hint="j")
            self.move()
            return ()

        b.loop(0, plan.strips, one, hint="strip")

    # -- lines --------------------------------------------------------------------------------

    def fill(self, start: Index, count: int) -> tuple[()]:
        """Fill elements of the working memory with the zero point."""
        b = self.b
        point = b.integer(self.layer.zero_point, i16)

        def one(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            b.store(point, self.scratch, [b.add(start, index)])
            return ()

        b.loop(0, count, one, hint="i")
        return ()

    def gather(self, channel: Index, strip: Index, low: int, high: int) -> None:
        """Gather lines `low` to `high` of a strip.

        Those outside of the map are padding. Without strips nothing ever overwrites them.
        """
        b, plan, rows = self.b, self.plan, self.grid.rows
        if plan.strips == 1:
            low, high = max(low, rows.before), min(high, rows.before + rows.size)
        top = b.sub(b.mul(strip, plan.strip * rows.stride), rows.before)

        def one(line: Index, _: Sequence[SSAValue]) -> tuple[()]:
            row = b.add(top, line)
            start = b.add(b.mul(line, plan.pitch), self.grid.columns.before)
            copy, fill = partial(self.copy, channel, row, start), partial(self.fill, start)
            if plan.strips == 1:
                return copy()
            if isinstance(row, int):
                return copy() if 0 <= row < rows.size else fill(plan.filled)
            b.choose(b.between(row, 0, rows.size), copy, partial(fill, plan.filled))
            return ()

        b.loop(low, high, one, hint="line")

    def copy(self, channel: Index, row: Index, start: Index) -> tuple[()]:
        """Copy a row of a channel to a place in the working memory, as 16-bit elements."""
        b, plan, pixel = self.b, self.plan, self.grid.pixel
        source = b.add(b.mul(row, self.grid.line), b.mul(channel, self.grid.apart))
        even = plan.filled // AT_ONCE * AT_ONCE

        def some(column: Index, count: int) -> tuple[()]:
            at, to = b.add(source, b.mul(column, pixel)), b.add(start, column)
            reach = (count - 1) * pixel + 1
            from_ = b.window(self.map, [at], [reach], [0], "pixels")
            line = b.window(self.scratch, [to], [count], [0], "line")
            values = [
                widened(b, b.load(from_, [index * pixel], "x"), "x") for index in range(count)
            ]
            for index in range(0, count - 1, 2):
                word = b.insert(dsp.PackOp(values[index], values[index + 1]), "word").result
                b.insert(dsp.StoreWordOp(word, line, b.value(index)))
            if count % 2:
                store(b, values[-1], line, [count - 1])
            return ()

        b.loop(0, even, lambda column, _: some(column, AT_ONCE), step=AT_ONCE, hint="ix")
        if even < plan.filled:
            some(even, plan.filled - even)
        return ()

    def move(self) -> None:
        """Move the last lines of a strip to the start, a word at a time."""
        b, plan = self.b, self.plan
        source = (plan.lines - plan.kept) * plan.pitch

        def one(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            word = b.insert(dsp.LoadWordOp(self.scratch, b.value(b.add(index, source)))).result
            b.insert(dsp.StoreWordOp(word, self.scratch, b.value(index)))
            return ()

        b.loop(0, plan.kept * plan.pitch, one, step=2, hint="i")

    # -- outputs -----------------------------------------------------------------------------

    def rows(self, filter: Index, strip: Index) -> None:
        """Compute the rows of a strip for a filter."""
        b, plan = self.b, self.plan
        taps = self.loaded(filter)
        first = b.mul(strip, plan.strip)
        count = b.least(plan.strip, b.sub(self.grid.rows.outputs, first))
        if self.grid.rows.outputs % plan.strip == 0:
            count = plan.strip

        def one(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            row = b.add(first, index)
            start = b.mul(index, self.grid.rows.stride * plan.pitch)
            for low, high, width in groups(self.grid.columns.outputs):
                self.group(filter, taps, row, start, (low, high), width)
            return ()

        b.loop(0, count, one, hint="oy")

    def loaded(self, filter: Index) -> Taps:
        """The bias and the weights of a filter; few of them stay in registers.

        Its scale stays in a register for floats. Where each strip would load it anew, this gains
        nothing.
        """
        if self.plan.strips == 1 and self.layer.epilogue.scaling is not None:
            self.layer.epilogue.scaling.hold(filter)
        b, size = self.b, self.grid.rows.kernel * self.words
        taps = b.window(self.taps, [b.mul(filter, size)], [size], [0], "taps")
        (bias,) = self.layer.biases(filter, [0], folded=True)
        if size > KEPT:
            return Taps(bias, lambda number: b.load(taps, [number], "w"))
        return Taps(bias, [b.load(taps, [number], "w") for number in range(size)].__getitem__)

    def group(
        self,
        filter: Index,
        taps: Taps,
        row: Index,
        start: Index,
        span: tuple[int, int],
        width: int,
    ) -> None:
        """Compute columns `span` of a row, `width` at a time; its lines start at `start`."""
        b = self.b

        def some(column: Index, _: Sequence[SSAValue]) -> tuple[()]:
            at = b.add(start, b.mul(column, self.grid.columns.stride))
            sums = self.sums(taps, at, width)
            self.layer.put(sums, filter, row, column, [0])
            return ()

        b.loop(*span, some, step=width, hint="ox")

    def sums(self, taps: Taps, at: Index, width: int) -> list[SSAValue]:
        """The sums of neighbouring outputs of a filter; the first one starts at element `at`."""
        b, plan, columns = self.b, self.plan, self.grid.columns
        unit = self.layer.unit
        assert isinstance(unit, DualUnit)
        taken = steps(columns.kernel, columns.stride, width)
        pitch = self.grid.rows.dilation * plan.pitch
        last = (self.grid.rows.kernel - 1) * pitch
        patch = b.window(self.scratch, [at], [last + taken[-1].word + 2], [0], "patch")
        sums = [taps.bias] * width
        for ky in range(self.grid.rows.kernel):
            for step in taken:
                word = unit.word(patch, ky * pitch + step.word)
                for output, number, halves in step.products:
                    weight = taps.word(ky * self.words + number)
                    sums[output] = self.product(word, weight, sums[output], halves)
        return sums

    def product(self, word: SSAValue, weight: SSAValue, total: SSAValue, halves: str) -> SSAValue:
        """One product, or two with a dual multiply-accumulate, added to a sum."""
        if halves:
            return self.b.insert(dsp.SmlaOp(word, weight, total, halves), "acc").result
        return self.b.insert(dsp.SmladOp(word, weight, total), "acc").result
