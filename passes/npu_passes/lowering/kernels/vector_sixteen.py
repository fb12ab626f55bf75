"""Depthwise convolutions of bytes on a vector unit: sixteen channels at once, channels last.

    %x = mve.load %ifm[%at] : memref<2304xi8, #npu.sram> -> vector<16xi8>
    %w = mve.load %taps[%t] : memref<2304xi8, #npu.flash> -> vector<16xi8>
    %even = mve.mul_long %x, %w bottom : vector<16xi8> -> vector<8xi16>
    %odd = mve.mul_long %x, %w top : vector<16xi8> -> vector<8xi16>

Each output that padding cuts has code of its own, which leaves out the taps on padding
(`sixteen_plan.py`). The zero point is folded into the first values.

    for each row of outputs
      for each output
        for c = 0 to C step 16
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer, wrapped
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.lowering.kernels.vector_starts import Classes, Starts
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.sixteen_plan import (
    KEPT,
    SIXTEEN,
    WORDS,
    SixteenPlan,
    Span,
    groups_of,
    in_words,
    spans,
)


class SixteenKernel:
    """Builds the loops of a depthwise convolution with one filter a channel."""

    def __init__(self, layer: Layer, map: SSAValue, grid: Grid, outputs: VectorOutputs) -> None:
        self.layer, self.grid, self.outputs = layer, grid, outputs
        self.b: LoopBuilder = layer.b
        self.plan = SixteenPlan(grid.rows, grid.columns)
        self.bounds = ChannelOutputs(layer, outputs)
        self.weights = layer.weights.reshape(grid.channels, -1).transpose()
        self.size = len(self.weights)
        packed = self.weights.reshape(self.size, -1, SIXTEEN).transpose(1, 0, 2)
        self.taps = layer.table("taps", np.ascontiguousarray(packed).ravel())
        self.map = layer.vector(map)
        self.starts = Starts(layer, Classes(grid.rows), Classes(grid.columns))
        first = self.starts.values if not self.starts.is_plain else self.plain()
        self.classes = len(first)
        starts = in_words(first).astype(np.int64).transpose(1, 0, 2)
        self.first = layer.table("starts", wrapped(starts.ravel()))
        scales = outputs.scaling.scales
        many = np.array(scales, np.float32) * np.ones(grid.channels, np.float32)
        self.scales = layer.table("scales", in_words(many).ravel())

    def plain(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The first values of all outputs, if padding makes no difference."""
        total = self.weights.astype(np.int64).sum(axis=0)
        return np.stack([self.layer.bias - self.layer.zero_point * total])

    def build(self) -> None:
        """Build the loops."""

        def one_row(y: Index, rows: Span) -> None:
            def one(x: Index, columns: Span) -> None:
                def sixteen(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
                    self.output(channel, (y, x), (rows.first, columns.first))
                    return ()

                self.b.loop(0, self.grid.channels, sixteen, step=SIXTEEN, hint="c")

            each(self.b, self.grid.columns, one, "ox")

        each(self.b, self.grid.rows, one_row, "oy")

    def output(self, channel: Index, place: tuple[Index, Index], like: tuple[int, int]) -> None:
        """Compute and store sixteen channels of an output, which has the taps of the one `like`."""
        b, grid = self.b, self.grid
        (top, _), (left, _) = grid.rows.taps(like[0]), grid.columns.taps(like[1])
        y = first_read(b, grid.rows, place[0], top)
        x = first_read(b, grid.columns, place[1], left)
        at = b.add(b.add(b.mul(y, grid.line), b.mul(x, grid.pixel)), channel)
        width = grid.columns.kernel

        def load(tap: int) -> SSAValue:
            ky, kx = divmod(tap, width)
            step = (ky - top) * grid.row_step + (kx - left) * grid.step
            return b.insert(mve.LoadOp(self.map, b.value(b.add(at, step)), mve.I8X16), "x").result

        groups = groups_of(self.weights, self.plan.taps(*like))
        sums: list[SSAValue] = []
        for some in (groups[:KEPT], *([each] for each in groups[KEPT:])):
            found = [self.products(group, channel, load, again=bool(sums)) for group in some]
            if not sums:
                b.insert(dsp.KeepOrderOp.create())
            sums = self.summed(sums or self.first_sums(channel, like), found)
        self.put(sums, channel, place)

    def summed(
        self, sums: Sequence[SSAValue], groups: Sequence[Sequence[SSAValue]]
    ) -> list[SSAValue]:
        """Words plus the sums of some groups in halves."""
        sides, found = [(odd, top) for odd in (0, 1) for top in (False, True)], list[SSAValue]()
        for total, (odd, top) in zip(sums, sides, strict=True):
            for parts in groups:
                add = mve.AddLongOp(total, parts[odd], top=top)
                total = self.b.insert(add, "acc").result
            found.append(total)
        return found

    def products(
        self, taps: Sequence[int], channel: Index, load: Callable[[int], SSAValue], *, again: bool
    ) -> Sequence[SSAValue]:
        """The products of some taps in halves, of the even channels and of the odd ones.

        `again`: there are sums in registers, so a product takes the place of what was loaded, which
        is loaded again.
        """
        b, parts = self.b, list[SSAValue]()
        for tap in taps:
            b.insert(dsp.KeepOrderOp.create())
            at = b.add(b.mul(channel, self.size), tap * SIXTEEN)
            w = b.insert(mve.LoadOp(self.taps, b.value(at), mve.I8X16), "w").result
            x = load(tap)
            if not parts:
                parts = [
                    b.insert(mve.MulLongOp(x, w, top=top), "p").result for top in (False, True)
                ]
                continue
            even = b.insert(mve.MlaLongOp(x, w, parts[0]), "p").result
            if again:
                b.insert(dsp.KeepOrderOp.create())
                x = load(tap)
            parts = [even, b.insert(mve.MlaLongOp(x, w, parts[1], top=True), "p").result]
        return parts

    def first_sums(self, channel: Index, like: tuple[int, int]) -> list[SSAValue]:
        """The first values of sixteen channels."""
        b, number = self.b, 0
        if not self.starts.is_plain:
            rows, columns = self.starts.rows, self.starts.columns
            number = b.mul(rows.number(b, like[0]), len(columns.positions))
            number = b.add(number, columns.number(b, like[1]))
        at = b.add(b.mul(channel, self.classes), b.mul(number, SIXTEEN))
        return self.words(self.first, at, mve.I32X4)

    def words(self, table: SSAValue, at: Index, type_: mve.Vector) -> list[SSAValue]:
        """Four vectors of a table."""
        b = self.b
        return [
            b.insert(mve.LoadOp(table, b.value(b.add(at, WORDS * each)), type_), "v").result
            for each in range(WORDS)
        ]

    def put(self, sums: Sequence[SSAValue], channel: Index, place: tuple[Index, Index]) -> None:
        """Requantise and store the sums of an output."""
        b, (pixel, line) = self.b, self.outputs.steps
        b.insert(dsp.KeepOrderOp.create())
        one = self.outputs.splatted
        scales = [one] * WORDS if one else self.words(self.scales, channel, mve.F32X4)
        products = [self.outputs.products(*pair) for pair in zip(sums, scales, strict=True)]
        halves = [self.bounds.halves(*products[first : first + 2]) for first in (0, 2)]
        found = b.insert(mve.NarrowBytesOp(*halves), "q").result
        at = b.add(b.add(b.mul(place[0], line), b.mul(place[1], pixel)), channel)
        b.insert(mve.StoreOp(found, self.outputs.memory, b.value(at)))


def each(b: LoopBuilder, axis: Axis, body: Callable[[Index, Span], None], hint: str) -> None:
    """Visit the positions of an axis; those with equal taps are a loop."""

    def visit(span: Span) -> None:
        def one(position: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(position, span)
            return ()

        b.loop(span.first, span.first + span.count, one, hint=hint)

    for span in spans(axis):
        if span.count == 1:
            body(span.first, span)
        else:
            visit(span)


def first_read(b: LoopBuilder, axis: Axis, position: Index, tap: int) -> Index:
    """The first element that an output reads, if padding leaves its taps from `tap` on."""
    if isinstance(position, int):
        return axis.start(position) + tap * axis.dilation
    return b.add(b.mul(position, axis.stride), tap * axis.dilation - axis.before)
