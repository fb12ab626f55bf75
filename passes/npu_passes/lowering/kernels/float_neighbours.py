"""Depthwise convolutions of floats on a vector unit: four neighbouring outputs of a row at once.

    %w = memref.load %taps[%k] : memref<72xf32, #npu.flash>
    %x = mve.load %line[%c1] : memref<6xf32, strided<[1], offset: ?>, #npu.sram> -> vector<4xf32>
    %s = mve.fma_scalar %x, %w, %acc : vector<4xf32>

This form serves maps whose rows lie side by side, element by element, as in the model's layout.
`neighbour_plan.py` says how many rows of outputs share what they load, and where four channels in
lanes take fewer instructions. The products of an output are added in the order of the general
loops, one rounding each. In lanes, products with padding are products with zero: they change no bit
if the weights are finite and no bias is -0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_dialect.npu import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.float_outputs import FloatOutputs
from npu_passes.lowering.kernels.layer import Maps
from npu_passes.support.common import is_stored_by_rows, window_start
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.neighbour_plan import NeighbourPlan, Reach, Run
from npu_plans.kernels.vector_plan import LANES, Strip


class FloatNeighboursKernel:
    """Builds the loops of one image of a depthwise convolution, for one or several filters each."""

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp,
        maps: Maps,
        weights: NDArray[Any],
        bias: NDArray[Any] | None,
        plan: NeighbourPlan,
    ) -> None:
        self.b, self.plan = b, plan
        self.rows, self.columns = op.axes()
        self.map, self.outputs = maps.input, FloatOutputs(b, op, maps, along=3)
        self.channels = shape_of(op.input)[1]
        self.filters = len(weights) // self.channels
        self.taps = constant_table(b, op, "taps", np.ascontiguousarray(weights).ravel())
        self.bias = None if bias is None else constant_table(b, op, "biases", bias)

    @staticmethod
    def plan_of(
        op: Conv2dOp, out: SSAValue, weights: NDArray[Any], bias: NDArray[Any] | None
    ) -> NeighbourPlan | None:
        """The plan of a layer; None if another form is as good, or if this one may not be used."""
        maps = [op.input, out, *([] if op.residual is None else [op.residual])]
        if op.pool is not None or not all(map(has_rows, maps)):
            return None
        if not np.isfinite(weights).all() or (bias is not None and has_negative_zero(bias)):
            return None
        by_rows = all(map(is_stored_by_rows, (op.input, out)))
        filters = len(weights) // op.group_count
        again = op.residual is None
        return NeighbourPlan.of(*op.axes(), filters, by_rows=by_rows, again=again)

    def build(self) -> None:
        """Build loops over channels and outputs; rows are outermost where they are in memory."""
        if all(map(is_stored_by_rows, (self.map, self.outputs.maps.out))):

            def some_rows(row: Index, height: int) -> None:
                def one(channel: Index, filter: Index) -> None:
                    self.line((channel, filter), self.numbers(filter), row, height)

                self.each_filter(one)

            self.each_strip(self.plan.lines, some_rows)
            return

        def each(channel: Index, filter: Index) -> None:
            line = partial(self.line, (channel, filter), self.numbers(filter))
            self.each_strip(self.plan.lines, line)

        self.each_filter(each)

    def each_strip(self, runs: Sequence[Run], body: Callable[[Index, int], object]) -> None:
        """Visit strips of outputs; `body` gets the first output of a strip, and their number."""
        for run in runs:

            def one(first: Index, _: Sequence[SSAValue], width: int = run.width) -> tuple[()]:
                body(first, width)
                return ()

            last = run.first + run.count * run.width
            self.b.loop(run.first, last, one, step=run.width, hint="o")

    def each_filter(self, body: Callable[[Index, Index], object]) -> None:
        """Visit all filters; `body` gets the channel, and the filter."""
        b = self.b

        def one(channel: Index, _: Sequence[SSAValue]) -> tuple[()]:
            def each(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
                body(channel, b.add(b.mul(channel, self.filters), number))
                return ()

            b.loop(0, self.filters, each, hint="oc")
            return ()

        b.loop(0, self.channels, one, hint="c")

    def numbers(self, filter: Index) -> Sequence[SSAValue]:
        """The weights of a filter, then its bias."""
        b, size = self.b, self.rows.kernel * self.columns.kernel
        first = b.mul(filter, size)
        found = [b.load(self.taps, [b.add(first, tap)], "w") for tap in range(size)]
        bias = b.real(0.0) if self.bias is None else b.load(self.bias, [filter], "bias")
        return [*found, bias]

    def line(
        self, at: tuple[Index, Index], numbers: Sequence[SSAValue], row: Index, height: int
    ) -> None:
        """Compute `height` rows of outputs of a filter; `at` is its channel, and the filter."""
        self.each_strip(self.plan.strips, partial(self.block, at, numbers, (row, height)))

    def block(
        self,
        at: tuple[Index, Index],
        numbers: Sequence[SSAValue],
        rows: tuple[Index, int],
        column: Index,
        width: int,
    ) -> None:
        """Compute a block of outputs: `rows` are the first one and their number."""
        b, (row, height) = self.b, rows
        known = column if isinstance(column, int) else None
        strip = Strip.of(self.rows, row if isinstance(row, int) else None, range(height))
        y = strip.origin if isinstance(row, int) else window_start(b, self.rows, row, "iy")
        x = 0 if known is not None else window_start(b, self.columns, column, "ix")
        reaches = Reach.of(self.columns, known, width)
        start = mve.SplatOp(numbers[-1], mve.F32X4)
        sums: list[SSAValue] = [b.insert(start, "bias").result] * height
        if strip.reach and reaches:
            reach = max(each.place + (each.count - 1) * self.columns.stride for each in reaches)
            sizes = (1, 1, strip.reach, reach + 1)
            patch = b.window(self.map, (0, at[0], y, x), sizes, (2, 3), "patch")
            for place, reads in groupby(strip.reads(), key=itemgetter(0)):
                some = [(output, tap) for _, output, tap in reads]
                self.products(patch, place, reaches, some, numbers, sums)
        for index, each in enumerate(sums):
            self.outputs.put(each, at[1], width, b.add(row, index), column)

    def products(
        self,
        patch: SSAValue,
        place: int,
        reaches: Sequence[Reach],
        reads: Sequence[tuple[int, int]],
        numbers: Sequence[SSAValue],
        sums: list[SSAValue],
    ) -> None:
        """Add the products of a row of the map; `reads` are outputs, and the kernel row of each."""
        b, loaded = self.b, dict[tuple[int, int], SSAValue]()
        for each in reaches:
            key = each.place, each.count
            if key not in loaded:
                loaded[key] = self.load(patch, place, each)
                b.insert(dsp.KeepOrderOp.create())
            value = loaded[key]
            for _ in range(each.lead):
                value = b.insert(mve.MoveUpOp(value), "x").result
            for output, tap in reads:
                weight = numbers[tap * self.columns.kernel + each.tap]
                made = mve.FmaScalarOp(value, weight, sums[output])
                sums[output] = b.insert(made, "acc").result

    def load(self, patch: SSAValue, place: int, reach: Reach) -> SSAValue:
        """Load the elements of a tap of a strip."""
        b, step = self.b, self.columns.stride
        sizes = (1, (reach.count - 1) * step + 1)
        view = b.window(patch, (place, reach.place), sizes, (1,), "line", step)
        first = None if reach.count == LANES else reach.count
        return b.insert(mve.LoadOp(view, b.value(0), mve.F32X4, first), "x").result


def has_rows(value: SSAValue) -> bool:
    """Whether the elements of a row of a map [N, C, H, W] lie side by side."""
    type_ = memref_type(value)
    strides = type_.get_strides()
    return strides is not None and (strides[3] == 1 or type_.get_shape()[3] == 1)


def has_negative_zero(values: NDArray[Any]) -> bool:
    """Whether one of some numbers is -0."""
    return bool((np.signbit(values) & (values == 0)).any())
