"""Depthwise convolutions of floats on a vector unit: four channels at once, in any layout.

    %w = mve.load %taps[%k] : memref<288xf32, #npu.flash> -> vector<4xf32>
    %x = mve.load %pixel[%c0] : memref<4xf32, strided<[256]>, ...> -> vector<4xf32>
    %s = mve.fma %x, %w, %acc : vector<4xf32>

The weights lie as [four channels, kernel y, kernel x, channel of the four]. Some neighbouring
outputs of a row share the weights of a kernel row, and the elements that several of them read. The
products of an output are added in the order of the general loops, one rounding each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.float_outputs import FloatOutputs
from npu_passes.lowering.kernels.layer import Maps
from npu_passes.lowering.kernels.walk import MOST_COLUMNS, border_columns, each_row, each_strip
from npu_passes.support.common import (
    LoopOptions,
    is_stored_by_rows,
    tap_range,
    window_start,
)
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.vector_plan import LANES, MOST_PIXELS, PIXELS, Strip

REGISTERS = 7
"""Registers for sums and weights; one holds an element of the map."""
STRAIGHT = 9
"""The most taps in straight-line code."""


class FloatDepthwiseKernel:
    """Builds the loops of one image of a depthwise convolution with one filter a channel."""

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp,
        maps: Maps,
        weights: NDArray[Any],
        bias: NDArray[Any] | None,
        options: LoopOptions,
    ) -> None:
        self.b, self.op, self.small = b, op, options.flash != "fast"
        self.rows, self.columns = op.axes()
        self.map, self.outputs = maps.input, FloatOutputs(b, op, maps)
        self.channels = len(weights)
        self.size = self.rows.kernel * self.columns.kernel
        room = -(-self.channels // LANES) * LANES
        padded = np.zeros((room, self.size), np.float32)
        padded[: self.channels] = weights.reshape(self.channels, self.size)
        packed = padded.reshape(-1, LANES, self.size).transpose(0, 2, 1)
        self.taps = constant_table(b, op, "taps", np.ascontiguousarray(packed).ravel())
        self.bias: SSAValue | None = None
        if bias is not None:
            biases = np.zeros(room, np.float32)
            biases[: self.channels] = bias
            self.bias = constant_table(b, op, "biases", biases)

    @staticmethod
    def fits(op: Conv2dOp) -> bool:
        """Whether there is no pool, and few columns are cut by padding."""
        columns = op.axes()[1]
        few = border_columns(interior(columns, None), 1) <= MOST_COLUMNS
        return op.pool is None and few and columns.kernel <= STRAIGHT and shape_of(op.input)[1] > 1

    def build(self) -> None:
        """Build loops over channels and outputs.

        Maps that are stored row by row are computed so, else channels are in the outermost loop.
        So an output can follow its dying input closely.
        """
        b, rows = self.b, interior(self.rows, None)
        stored = self.map, self.outputs.maps.out
        if not any(map(is_stored_by_rows, stored)):

            def all_rows(channel: Index, count: int) -> None:
                each_row(b, rows, partial(self.one_row, channel, count), once=self.small)

            self.each_four(all_rows)
            return

        def one_row(row: Index, inside: bool) -> tuple[()]:
            self.each_four(lambda c, count: self.one_row(c, count, row, inside))
            return ()

        each_row(b, rows, one_row, once=self.small)

    def one_row(self, channel: Index, count: int, row: Index, inside: bool) -> tuple[()]:
        """Compute a row of outputs, for `count` channels."""
        columns = interior(self.columns, None)
        width = columns.total if columns.total <= MOST_PIXELS else PIXELS
        line = partial(self.line, channel, count, row, inside)
        return each_strip(self.b, columns, width, line)

    def each_four(self, body: Callable[[Index, int], object]) -> None:
        """Visit four channels at a time; `body` gets the first one, and how many there are."""
        whole = self.channels // LANES * LANES

        def one(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(channel, LANES)
            return ()

        self.b.loop(0, whole, one, step=LANES, hint="c")
        if whole < self.channels:
            body(whole, self.channels - whole)

    def line(
        self, channel: Index, count: int, row: Index, inside: bool, column: Index, width: int
    ) -> None:
        """Compute `width` neighbouring outputs of a row, for `count` channels."""
        b, known = self.b, column if isinstance(column, int) else None
        strip = Strip.of(self.columns, known, range(width))
        y = window_start(b, self.rows, row, "iy")
        x = window_start(b, self.columns, column, "ix") if known is None else strip.origin
        sums: Sequence[SSAValue] = [self.start(channel)] * width
        taps = b.mul(channel, self.size)

        def one_row(ky: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = b.add(y, b.mul(ky, self.rows.dilation))
            first = b.add(taps, b.mul(ky, self.columns.kernel * LANES))
            return self.row((channel, count), (at, x), first, strip, sums)

        if strip.reach and inside and self.size <= STRAIGHT and not self.small:
            for ky in range(self.rows.kernel):
                sums = one_row(ky, sums)
        elif strip.reach:
            rows = (0, self.rows.kernel) if inside else tap_range(b, self.rows, row)
            sums = b.loop(*rows, one_row, sums, hint="ky", carry="acc")
        for pixel, each in enumerate(sums):
            self.outputs.put(each, channel, count, row, b.add(column, pixel))

    def start(self, channel: Index) -> SSAValue:
        """The first values of the sums of four channels."""
        if self.bias is None:
            return self.outputs.splat(0.0)
        load = mve.LoadOp(self.bias, self.b.value(channel), mve.F32X4)
        return self.b.insert(load, "bias").result

    def row(
        self,
        channels: tuple[Index, int],
        at: tuple[Index, Index],
        first: Index,
        strip: Strip,
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Add the products of a kernel row.

        `channels`: the first channel and their number; `at`: row and column of the map at which the
        strip begins; `first`: the first of the weights of the kernel row.
        """
        b, found, (channel, count) = self.b, list(sums), channels
        sizes = (1, count, 1, strip.reach)
        patch = b.window(self.map, (0, channel, *at), sizes, (1, 3), "patch")
        weights: dict[int, SSAValue] = {}
        for products in strip.products(max(1, REGISTERS - len(found))):
            pixel = b.window(patch, (0, products[0].place), (count, 1), (0,), "pixel")
            value = self.load(pixel, 0, "x", None if count == LANES else count)
            for each in products:
                if each.fresh:
                    weight = self.load(self.taps, b.add(first, each.tap * LANES), "w")
                    weights[each.tap] = weight
                    b.insert(dsp.KeepOrderOp.create())
                made = mve.FmaOp(value, weights[each.tap], found[each.output])
                found[each.output] = b.insert(made, "acc").result
            b.insert(dsp.KeepOrderOp.create())
        return found

    def load(self, buffer: SSAValue, at: Index, hint: str, first: int | None = None) -> SSAValue:
        """Load four floats, or the first ones of them."""
        b = self.b
        return b.insert(mve.LoadOp(buffer, b.value(at), mve.F32X4, first), hint).result
