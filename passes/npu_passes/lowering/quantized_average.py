"""Lower average pools of quantised maps to loops.

Mode float adds up real numbers in the order in which onnxruntime does. A core without an FPU adds
up the integers, and rescales the sum in fixed point (`npu_plans/kernels/fixed_point.py`). Only
where that is near a half, it does what the mode says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from npu_dialect.npu import QuantizedAvgPool2dOp
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES, Multiplier
from npu_passes.buffers.choose_layouts import is_channels_last
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.real_lanes import Average
from npu_passes.lowering.summed_windows import SummedWindows, Sums
from npu_passes.lowering.vector_average import VectorAverage
from npu_passes.lowering.vector_bytes import on_vectors
from npu_passes.lowering.vector_window_average import WindowAverage
from npu_passes.lowering.window_sums import chain_of, counts_of, factors_of
from npu_passes.support import integers
from npu_passes.support.common import (
    LoopOptions,
    counted_taps,
    for_each,
    tap_range,
    window_start,
)
from npu_passes.support.fixed_point import farthest, fixed_point, unless_near_half
from npu_passes.support.integers import LARGE, Scaling, bounds_of, element_of, rounded
from npu_passes.support.loop_builder import Index, LoopBuilder, is_dense, memref_type
from npu_plans.kernels.fixed_point import FixedProduct, fixed_product
from npu_plans.kernels.rescaling import in_range

TURN = 16
"""Elements in one iteration of the loop over a map that is averaged."""

STRAIGHT = 25
"""The most taps of a window that are straight code."""

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
        self.factors: SSAValue | None = None

    def build(self) -> None:
        """Build the loops over all outputs, by the mode of the layer."""
        mode, is_global = self.op.mode.data, self.op.is_global
        if mode in ("fixed", "half_up") or (mode == "qlinear" and is_global):
            self.build_integers(mode)
        elif mode == "float" and is_global and self.on_vectors():
            VectorAverage(self.b, self.op.input, self.out, self.average).build()
        elif not is_global and self.on_vectors():
            WindowAverage(self.b, self.op, self.out, self.average, self.options).build()
        elif self.whole is not None:
            self.build_outputs(partial(self.in_fixed_point, self.whole))
        elif is_global:
            self.build_outputs(partial(self.by_lanes, self.numbers()))
        elif (windows := self.summed()) is not None:
            windows.build(STRAIGHT if self.options.flash == "fast" else 0)
        else:
            self.build_outputs(self.by_windows)

    def summed(self) -> SummedWindows | None:
        """Windows by integer sums, if those on the map depend on these alone."""
        axes, area = (self.rows, self.columns), self.rows.kernel * self.columns.kernel
        if element_of(self.op.input) not in BYTE_TYPES:
            return None
        chain = chain_of(self.op, self.average, axes)
        if (inner := factors_of(chain, [area])) is None:
            return None
        outer = factors_of(chain, counts_of(self.op, axes, cut=True))
        sums = Sums(self.sum_of_window, self.count, self.by_windows)
        ends = Ends(self.points[1], self.bounds)
        return SummedWindows(self.b, self.op, self.out, axes, ends, inner[area], outer, sums)

    def build_outputs(self, output: Callable[[Sequence[Index]], SSAValue]) -> None:
        """Build the loops over all outputs; those over an axis of one output are none."""

        def one(at: tuple[Index, ...]) -> None:
            integers.store(self.b, output(at), self.out, at)

        for_each(self.b, shape_of(self.out), one, ("n", "c", "y", "x"))

    @property
    def average(self) -> Average:
        """What a vector unit computes."""
        (point, target), (before, after) = self.points, self.scales
        early = target if self.op.mode.data == "qlinear" else 0
        return Average(point, before, after, Ends(target - early, self.bounds), early)

    def on_vectors(self) -> bool:
        """Whether the machine averages several channels at once."""
        kind = VectorAverage if self.op.is_global else WindowAverage
        maps = self.op.input, self.out
        return on_vectors(self.options, *maps) and kind.fits(*maps, self.average)

    def finish(self, total: SSAValue, count: SSAValue) -> SSAValue:
        """A float32 sum divided by `count` and the output scale, and rounded."""
        b = self.b
        value = b.divf(b.divf(total, count), b.real(self.scales[1]))
        point = self.points[1]
        if self.op.mode.data == "qlinear":
            value, point = b.addf(value, b.real(float(point))), 0
        return rounded(b, value, point, self.bounds, is_number=self.scales[0] < LARGE)

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

    def by_windows(self, at: Sequence[Index]) -> SSAValue:
        """One output by a float32 sum: by columns, in mode qlinear by rows."""
        b = self.b

        def add(place: tuple[Index, ...], total: SSAValue) -> SSAValue:
            return b.addf(total, self.real(place))

        by_columns = None if self.op.mode.data == "qlinear" else b.addf
        total = self.taps(at, add, b.real(0.0), by_columns=by_columns)
        return self.finish(total, b.to_real(self.count(at[2], at[3])))

    def elements(self, at: Sequence[Index]) -> Callable[[Index], SSAValue]:
        """The function that loads an element of the channel of an output, row by row."""
        b, channel = self.b, at[:2]
        _, _, height, width = shape_of(self.op.input)
        size = height * width
        flat = is_dense(memref_type(self.op.input))
        vector = b.flat(self.op.input) if flat else self.op.input
        last = is_channels_last(memref_type(self.op.input)) and shape_of(self.op.input)[0] == 1
        pixels = b.pixels(self.op.input) if last and not flat else None
        base = b.mul(b.add(b.mul(channel[0], shape_of(self.op.input)[1]), channel[1]), size)

        def element(k: Index) -> SSAValue:
            if flat:
                return integers.load(b, vector, (b.add(base, k),))
            if pixels is not None:
                return integers.load(b, pixels, (k, channel[1]))
            row = b.floor_div(k, width)
            place = (*channel, row, b.sub(k, b.mul(row, width)))
            return integers.load(b, self.op.input, place)

        return element

    def by_lanes(self, number: Callable[[SSAValue], SSAValue], at: Sequence[Index]) -> SSAValue:
        """The one output of a channel by four interleaved float32 sums."""
        b, read = self.b, self.elements(at)
        size = prod(shape_of(self.op.input)[2:])
        even = size // 4 * 4

        def element(k: Index) -> SSAValue:
            return number(read(k))

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
        return self.finish(total, b.real(float(size)))

    @cached_property
    def whole(self) -> FixedProduct | None:
        """The fixed-point numbers of a core without an FPU; None if floats are computed."""
        if self.b.has_floats or element_of(self.op.input) not in BYTE_TYPES:
            return None
        taps = self.rows.kernel * self.columns.kernel
        counts = [taps] if self.has_one_count else list(range(1, taps + 1))
        si, so = self.scales
        far = farthest(element_of(self.op.input), self.points[0])
        additions = taps // 4 + 7 if self.op.is_global else taps + 1
        if not in_range(si, so):
            return None
        ratios = [si / (so * count) for count in counts]
        limits = [far * count for count in counts]
        return fixed_product(ratios, limits, additions, self.points[1], self.bounds)

    @property
    def has_one_count(self) -> bool:
        """Whether all averages divide by the number of taps."""
        axes = self.rows, self.columns
        padded = any(axis.before or axis.after for axis in axes)
        return self.op.is_global or not padded

    def in_fixed_point(self, whole: FixedProduct, at: Sequence[Index]) -> SSAValue:
        """One output by an integer sum; by floats if it is near a half."""
        b = self.b
        total = self.sum_of_elements(at) if self.op.is_global else self.sum_of_window(at)
        if len(whole.factors) == 1:
            factor = b.integer(whole.factors[0])
        else:
            count = b.sub(self.count(at[2], at[3]), 1)
            factor = b.load(self.table(whole), [count], "factor")

        def floats() -> SSAValue:
            return self.by_lanes(self.number, at) if self.op.is_global else self.by_windows(at)

        fixed = fixed_point(b, total, factor, whole)
        return unless_near_half(b, fixed, whole.shift, whole.near, self.bounds, floats)

    def table(self, whole: FixedProduct) -> SSAValue:
        """The table of factors by the number of taps."""
        if self.factors is None:
            values = np.array(whole.factors, np.int32)
            self.factors = integers.constant_table(self.b, self.op, "factors", values)
        return self.factors

    def sum_of_elements(self, at: Sequence[Index]) -> SSAValue:
        """The sum of all elements of a channel, less the zero point each."""
        b, read, (point, _) = self.b, self.elements(at), self.points
        size = prod(shape_of(self.op.input)[2:])

        def one(k: Index, total: Sequence[SSAValue]) -> list[SSAValue]:
            return [integers.fits(b, arith.AddiOp, total[0], read(k))]

        return b.loop(0, size, one, [b.integer(-point * size)], hint="k", carry="total")[0]

    def sum_of_window(self, at: Sequence[Index]) -> SSAValue:
        """The sum of the elements of a window, less the zero point each."""
        b = self.b

        def add(place: tuple[Index, ...], total: SSAValue) -> SSAValue:
            value = integers.load(b, self.op.input, place)
            value = integers.without(b, value, self.points[0])
            return integers.fits(b, arith.AddiOp, total, value)

        return self.taps(at, add, b.integer(0))

    def build_integers(self, mode: str) -> None:
        """Build loops of integer sums, each requantised with the scale for its number of taps."""
        b = self.b
        most = self.rows.kernel * self.columns.kernel
        si, so = (np.float32(scale) for scale in self.scales)
        counts = [most] if self.op.is_global else range(1, most + 1)
        scales = [average_scale(si, so, n, mode) for n in counts]
        kind = "float" if mode == "qlinear" else mode
        far = farthest(element_of(self.op.input), self.points[0])
        largest = [far * count for count in counts]
        scaling = Scaling(b, self.op, scales, self.points[1], kind, self.bounds, largest=largest)

        def one(at: Sequence[Index]) -> SSAValue:
            index = 0 if self.op.is_global else b.sub(self.count(at[2], at[3]), 1)
            return scaling(self.sum_of_window(at), index)

        self.build_outputs(one)


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
