"""Lower layers that quantise, requantise, add or average quantised maps to loops.

The loops do exactly the operations that `layers/quantized.py` defines, in that order: no product
and sum may become a fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from npu_dialect.npu import (
    DequantizeOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizeOp,
    RequantizeOp,
)
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES, Multiplier, limits_of
from npu_passes.buffers.choose_layouts import is_channels_last
from npu_passes.lowering.additions import Addition
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.lower_simple import elementwise
from npu_passes.lowering.vector_average import Average, VectorAverage
from npu_passes.lowering.vector_bytes import sum_of_bytes
from npu_passes.support import integers
from npu_passes.support.common import LoopOptions, counted_taps, for_each, tap_range, window_start
from npu_passes.support.integers import LARGE, Scaling, bounds_of, element_of, rounded
from npu_passes.support.loop_builder import Index, LoopBuilder, is_dense, memref_type
from npu_plans.kernels.byte_sums import Summand, fused_sum


def lower_quantize(b: LoopBuilder, op: QuantizeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.quantize`."""
    bounds = bounds_of(element_of(out), None)

    def body(values: Sequence[SSAValue]) -> SSAValue:
        value = b.divf(values[0], b.real(op.scale))
        return rounded(b, value, op.offset, bounds, is_number=False)

    elementwise(b, [op.input], out, body)


def lower_dequantize(b: LoopBuilder, op: DequantizeOp, out: SSAValue, _: LoopOptions) -> None:
    """Build the loops of `npu.dequantize`."""
    scales = float_values(op.scales)
    if len(scales) == 1:
        elementwise(
            b,
            [op.input],
            out,
            lambda values: integers.real(b, values[0], op.offset, b.real(scales[0])),
        )
        return
    table = integers.constant_table(b, op, "scales", np.array(scales, np.float32))

    def one(at: tuple[Index, ...]) -> None:
        value = integers.load(b, op.input, at)
        b.store(integers.real(b, value, op.offset, b.load(table, [at[1]])), out, at)

    for_each(b, shape_of(out), one)


def lower_requantize(b: LoopBuilder, op: RequantizeOp, out: SSAValue, options: LoopOptions) -> None:
    """Build the loops of `npu.requantize`."""
    before, after = int_values(op.zero_points)
    scales, mode = float_values(op.scales), op.mode.data
    bounds = bounds_of(element_of(out), None)
    if on_vectors(options, op.input, out) and mode == "float" and len(scales) == 1:
        summand = Summand(scales[0], before, *limits_of(element_of(op.input)))
        fused = fused_sum((summand,), op.divided_by or 1.0, after, bounds)
        if fused is not None and sum_of_bytes(b, op, [op.input], out, fused, bounds):
            return
    sums = element_of(op.input)
    scaling = Scaling(b, op, scales, after, mode, bounds, op.divided_by, sums)
    if len(scales) == 1:
        elementwise(
            b,
            [op.input],
            out,
            lambda values: scaling(integers.without(b, values[0], before), 0),
        )
        return

    def one(at: tuple[Index, ...]) -> None:
        value = integers.without(b, integers.load(b, op.input, at), before)
        integers.store(b, scaling(value, at[1]), out, at)

    for_each(b, shape_of(out), one)


def lower_quantized_add(
    b: LoopBuilder, op: QuantizedAddOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of `npu.quantized_add`."""
    bounds = bounds_of(element_of(out), None)
    scales, points = float_values(op.scales), int_values(op.zero_points)
    addition = Addition(b, scales, points, op.mode.data, bounds)
    if on_vectors(options, op.lhs, op.rhs, out):
        fused = addition.fused([element_of(each) for each in (op.lhs, op.rhs)])
        if fused is not None and sum_of_bytes(b, op, [op.lhs, op.rhs], out, fused, bounds):
            return
    elementwise(b, [op.lhs, op.rhs], out, lambda values: addition(*values))


def on_vectors(options: LoopOptions, *maps: SSAValue) -> bool:
    """Whether the machine computes with vectors, and all maps of a layer are bytes."""
    return "mve" in options.features and all(element_of(map) in BYTE_TYPES for map in maps)


TURN = 16
"""Elements in one iteration of the loop over a map that is averaged."""

MANY = 2048
"""With this many elements or more, a table of the real number of each byte pays off."""


class AverageLowering:
    """Builds the loops of one average pool of a quantised map."""

    def __init__(
        self, b: LoopBuilder, op: QuantizedAvgPool2dOp, out: SSAValue, options: LoopOptions
    ) -> None:
        self.b, self.op, self.out, self.options = b, op, out, options
        self.points = int_values(op.zero_points)
        self.bounds = bounds_of(element_of(out), None)
        _, _, height, width = shape_of(op.input)
        self.rows, self.columns = op.window().axes(height, width)
        self.scales = float_values(op.scales)

    def build(self) -> None:
        """Build the loops over all outputs, by the mode of the layer."""
        mode = self.op.mode.data
        if mode in ("fixed", "half_up") or (mode == "qlinear" and self.op.is_global):
            self.build_integers(mode)
        elif mode == "float" and self.op.is_global and self.on_vectors():
            VectorAverage(self.b, self.op.input, self.out, self.average).build()
        elif mode == "float" and self.op.is_global:
            number = self.numbers()
            lanes = partial(self.lanes, number)
            for_each(self.b, shape_of(self.out)[:2], lanes, ("n", "c"))
        else:
            for_each(self.b, shape_of(self.out), self.floats, ("n", "c", "y", "x"))

    @property
    def average(self) -> Average:
        """The average of a whole map."""
        before, after = self.scales
        return Average(self.points[0], before, after, Ends(self.points[1], self.bounds))

    def on_vectors(self) -> bool:
        """Whether the machine averages four channels of a whole map at once."""
        maps = self.op.input, self.out
        return on_vectors(self.options, *maps) and self.average.fits(*maps)

    def finish(self, total: SSAValue, count: SSAValue, at: Sequence[Index]) -> None:
        """Divide a float32 sum by `count` and the output scale, round it and store it."""
        b = self.b
        value = b.divf(b.divf(total, count), b.real(self.scales[1]))
        point = self.points[1]
        if self.op.mode.data == "qlinear":
            value, point = b.addf(value, b.real(float(point))), 0
        number = rounded(b, value, point, self.bounds, is_number=self.scales[0] < LARGE)
        integers.store(b, number, self.out, at)

    def real(self, at: Sequence[Index]) -> SSAValue:
        """An input element as a real number in float32."""
        return self.number(integers.load(self.b, self.op.input, at))

    def number(self, value: SSAValue) -> SSAValue:
        """The real number in float32 of an input element, which is an i32."""
        return integers.real(self.b, value, self.points[0], self.b.real(self.scales[0]))

    def numbers(self) -> Callable[[SSAValue], SSAValue]:
        """A function like `number` for many elements: it reads a table, unless flash is short."""
        b, op = self.b, self.op
        few = prod(shape_of(op.input)) < MANY or element_of(op.input) not in BYTE_TYPES
        if self.options.flash != "fast" or few or self.scales[0] >= LARGE:
            return self.number
        low, high = bounds_of(element_of(op.input), None)
        reals = np.arange(low, high + 1) - self.points[0]
        values = reals.astype(np.float32) * np.float32(self.scales[0])
        table = integers.constant_table(b, op, "reals", values)

        def number(value: SSAValue) -> SSAValue:
            place = integers.without(b, value, low)
            return b.load(table, [b.insert(arith.IndexCastOp(place, IndexType())).result])

        return number

    def count(self, y: Index, x: Index) -> Index:
        """By how many taps the average of an output divides."""
        b = self.b
        counts: list[Index] = []
        for axis, position in ((self.rows, y), (self.columns, x)):
            if self.op.count_include_pad is not None:
                counts.append(counted_taps(b, axis, position))
            else:
                low, high = tap_range(b, axis, position)
                counts.append(b.sub(high, low))
        return b.mul(counts[0], counts[1])

    def taps(
        self,
        at: Sequence[Index],
        body: Callable[[tuple[Index, ...], SSAValue], SSAValue],
        start: SSAValue,
        *,
        by_columns: Callable[[SSAValue, SSAValue], SSAValue] | None = None,
    ) -> SSAValue:
        """Reduce the window of output `at` with `body`, row by row from `start` on.

        If `by_columns` is given, each column of the window is reduced from `start` on by itself,
        and `by_columns` adds up the results.
        """
        b, axes = self.b, (self.rows, self.columns)
        origin = [window_start(b, axis, position) for axis, position in zip(axes, at[2:])]
        ranges = [tap_range(b, axis, position) for axis, position in zip(axes, at[2:])]
        outside, inside = (1, 0) if by_columns else (0, 1)

        def outer(i: Index, carried: Sequence[SSAValue]) -> list[SSAValue]:
            def inner(j: Index, total: Sequence[SSAValue]) -> list[SSAValue]:
                tap = (j, i) if by_columns else (i, j)
                y, x = (
                    b.add(first, b.mul(index, axis.dilation))
                    for first, index, axis in zip(origin, tap, axes, strict=True)
                )
                return [body((at[0], at[1], y, x), total[0])]

            begin = start if by_columns else carried[0]
            found = b.loop(*ranges[inside], inner, [begin], carry="part")[0]
            return [by_columns(carried[0], found) if by_columns else found]

        return b.loop(*ranges[outside], outer, [start], carry="total")[0]

    def floats(self, at: tuple[Index, ...]) -> None:
        """Compute one output by a float32 sum: by columns, in mode qlinear by rows."""
        b = self.b

        def add(place: tuple[Index, ...], total: SSAValue) -> SSAValue:
            return b.addf(total, self.real(place))

        by_columns = None if self.op.mode.data == "qlinear" else b.addf
        total = self.taps(at, add, b.real(0.0), by_columns=by_columns)
        self.finish(total, b.to_real(self.count(at[2], at[3])), at)

    def lanes(self, number: Callable[[SSAValue], SSAValue], channel: tuple[Index, ...]) -> None:
        """Compute the one output of a channel by four interleaved float32 sums."""
        b = self.b
        _, _, height, width = shape_of(self.op.input)
        size = height * width
        even = size // 4 * 4
        flat = is_dense(memref_type(self.op.input))
        vector = b.flat(self.op.input) if flat else self.op.input
        last = is_channels_last(memref_type(self.op.input)) and shape_of(self.op.input)[0] == 1
        pixels = b.pixels(self.op.input) if last and not flat else None
        base = b.mul(b.add(b.mul(channel[0], shape_of(self.op.input)[1]), channel[1]), size)

        def element(k: Index) -> SSAValue:
            if flat:
                return number(integers.load(b, vector, (b.add(base, k),)))
            if pixels is not None:
                return number(integers.load(b, pixels, (k, channel[1])))
            row = b.floor_div(k, width)
            at = (*channel, row, b.sub(k, b.mul(row, width)))
            return number(integers.load(b, self.op.input, at))

        def four(k: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            return [b.addf(sums[i], element(b.add(k, i))) for i in range(4)]

        def many(k: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for first in range(0, TURN, 4):
                sums = four(b.add(k, first), sums)
            return sums

        turns = even // TURN * TURN
        s: Sequence[SSAValue] = [b.real(0.0)] * 4
        s = b.loop(0, turns, many, s, step=TURN, hint="k", carry="lane")
        s = b.loop(turns, even, four, s, step=4, hint="k", carry="lane")
        total = b.addf(b.addf(s[0], s[2]), b.addf(s[1], s[3]))
        for k in range(even, size):
            total = b.addf(total, element(k))
        self.finish(total, b.real(float(size)), (*channel, 0, 0))

    def build_integers(self, mode: str) -> None:
        """Build loops of integer sums, each requantised with the scale for its number of taps."""
        b = self.b
        most = self.rows.kernel * self.columns.kernel
        si, so = (np.float32(scale) for scale in self.scales)
        counts = [most] if self.op.is_global else range(1, most + 1)
        scales = [average_scale(si, so, n, mode) for n in counts]
        kind = "float" if mode == "qlinear" else mode
        scaling = Scaling(b, self.op, scales, self.points[1], kind, self.bounds)

        def add(place: tuple[Index, ...], total: SSAValue) -> SSAValue:
            value = integers.load(b, self.op.input, place)
            value = integers.without(b, value, self.points[0])
            return integers.fits(b, arith.AddiOp, total, value)

        def one(at: tuple[Index, ...]) -> None:
            total = self.taps(at, add, b.integer(0))
            index = 0 if self.op.is_global else b.sub(self.count(at[2], at[3]), 1)
            integers.store(b, scaling(total, index), self.out, at)

        for_each(b, shape_of(self.out), one, ("n", "c", "y", "x"))


def average_scale(si: np.float32, so: np.float32, count: int, mode: str) -> float:
    """What the sum of `count` elements is multiplied by in a mode."""
    match mode:
        case "half_up":
            return Multiplier.reciprocal(count).number
        case "fixed":
            return float(si) / (float(so) * count)
        case _:
            return float(si / (so * np.float32(count)))


def lower_quantized_avg_pool(
    b: LoopBuilder, op: QuantizedAvgPool2dOp, out: SSAValue, options: LoopOptions
) -> None:
    """Build the loops of `npu.quantized_avg_pool2d`."""
    AverageLowering(b, op, out, options).build()
