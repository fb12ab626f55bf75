"""Lower windows of averages of bytes with channels last to loops over vectors of channels.

    scf.for %c = %c0 to %c64 step %c8 {
      %x = mve.load %ifm[%at] : memref<4096xi8, #npu.sram> -> vector<8xi16>
      %s = mve.add %start, %x : vector<8xi16>            // for each tap of the window
      %even = mve.widen %s bottom : vector<8xi16> -> vector<4xi32>
      %f = mve.to_float %even : vector<4xi32> -> vector<4xf32>
      %p = mve.mul_scalar %f, %factor : vector<4xf32>, f32
      ...                                                // the odd lanes, too
      mve.store %q, %ofm[%to] saturated : vector<8xi16>, memref<4096xi8, #npu.sram>
    }

Sums of integers serve where `npu_plans/kernels/window_averages.py` has a factor. Other windows add
up real numbers, four at a time, in the order of the mode (`real_lanes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.mve.types import as_vector
from npu_dialect.npu import QuantizedAvgPool2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.kernels.byte_stores import ByteStores, Ends
from npu_passes.lowering.kernels.quotients import Divisor
from npu_passes.lowering.real_lanes import Average, RealLanes
from npu_passes.lowering.vector_pooling import Output, VectorPooling
from npu_passes.lowering.window_sums import chain_of, counts_of, factors_of
from npu_passes.support.common import LoopOptions, counted_taps, tap_range
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.exact_quotient import reciprocal
from npu_plans.kernels.near_halves import FARTHEST_BYTE, LARGEST_HALF

FOUR, EIGHT = 4, 8
"""Channels in a vector of real numbers, and in one of integers."""
FEWEST = 2
"""With one channel the general loops may be faster."""

Ranges = tuple[tuple[Index, Index], tuple[Index, Index]]
"""The taps of a window that are on the map: its rows and its columns."""
Places = Callable[[Index, Index], Index]
"""The place of a tap by its row and column."""


@dataclass(frozen=True)
class Factors:
    """What sums are multiplied by, for each number of taps that they are divided by."""

    by_count: dict[int, float]

    @property
    def largest(self) -> float:
        """A bound of the products."""
        return max(FARTHEST_BYTE * count * factor for count, factor in self.by_count.items())


class WindowAverage(VectorPooling):
    """Builds the loops of an average pool."""

    def __init__(
        self,
        b: LoopBuilder,
        op: QuantizedAvgPool2dOp,
        out: SSAValue,
        average: Average,
        options: LoopOptions,
    ) -> None:
        super().__init__(b, op.input, out, op.window())
        self.op, self.average = op, average
        self.reals = RealLanes(b, average)
        self.by_columns = op.mode.data != "qlinear"
        self.all_taps: Ranges = (0, self.rows.kernel), (0, self.columns.kernel)
        self.area = self.rows.kernel * self.columns.kernel
        self.is_unrolled = self.area <= options.unroll
        self.tables: dict[str, SSAValue] = {}
        self.splats: dict[tuple[int, mve.Vector], SSAValue] = {}

    @staticmethod
    def fits(map: SSAValue, out: SSAValue, average: Average) -> bool:
        """Whether vectors compute it: channels lie side by side, and no number is out of range."""
        last = all(pixel_steps(memref_type(each)) is not None for each in (map, out))
        return last and average.in_range and shape_of(map)[1] >= FEWEST

    # -- what is sure --------------------------------------------------------------------------

    def factors(self, counts: Sequence[int]) -> Factors | None:
        """The factors for some numbers of taps; None if sums of integers do not serve for all."""
        if FARTHEST_BYTE * self.area > LARGEST_HALF:
            return None
        axes = self.rows, self.columns
        found = factors_of(chain_of(self.op, self.average, axes), counts)
        return None if found is None else Factors(found)

    @cached_property
    def counts(self) -> list[int]:
        """By which numbers windows that the border cuts divide."""
        return counts_of(self.op, (self.rows, self.columns), cut=True)

    @cached_property
    def inner(self) -> Factors | None:
        """The factor of windows that lie on the map."""
        return self.factors([self.area])

    @cached_property
    def outer(self) -> Factors | None:
        """The factors of the other windows."""
        return self.factors(self.counts)

    # -- windows -------------------------------------------------------------------------------

    def whole(self, at: Output) -> None:
        """Compute the output of a window that lies on the map."""
        if self.inner is None:
            self.by_reals(at, self.all_taps, self.area)
        else:
            self.by_integers(at, self.all_taps, self.inner, self.area)

    def cut(self, at: Output) -> None:
        """Compute an output from the taps of its window that are on the map."""
        b = self.b
        ranges = tap_range(b, self.rows, at.y), tap_range(b, self.columns, at.x)
        count = self.counts[0] if len(self.counts) == 1 else self.count(at, ranges)
        if self.outer is None:
            self.by_reals(at, ranges, count)
        else:
            self.by_integers(at, ranges, self.outer, count)

    def count(self, at: Output, ranges: Ranges) -> Index:
        """By how many taps an output divides."""
        b = self.b
        if self.op.count_include_pad is None:
            return self.taps(ranges)
        return b.mul(counted_taps(b, self.rows, at.y), counted_taps(b, self.columns, at.x))

    def taps(self, ranges: Ranges) -> Index:
        """The number of taps in some rows and columns."""
        (top, bottom), (left, right) = ranges
        return self.b.mul(self.b.sub(bottom, top), self.b.sub(right, left))

    def places(self, at: Output, ranges: Ranges, channel: Index) -> Places:
        """Where a channel of each tap lies.

        If the whole window is on the map, it is a known distance from the first tap. So
        instructions reach several taps from one pointer.
        """
        if not self.is_unrolled or ranges != self.all_taps:
            return lambda ky, kx: self.tap(at, (ky, kx), channel)
        first = self.tap(at, (0, 0), channel)

        def place(ky: Index, kx: Index) -> Index:
            below, beside = self.rows.dilation, self.columns.dilation
            return self.b.add(
                first, self.input.place(0, self.b.mul(ky, below), self.b.mul(kx, beside))
            )

        return place

    def over(
        self,
        taps: tuple[Index, Index],
        body: Callable[[Index, SSAValue], SSAValue],
        start: SSAValue,
    ) -> SSAValue:
        """Add up along an axis, in straight-line code if all taps are known."""
        low, high = taps
        if isinstance(low, int) and isinstance(high, int) and self.is_unrolled:
            for tap in range(low, high):
                start = body(tap, start)
            return start
        each = self.b.loop(
            low, high, lambda tap, total: [body(tap, total[0])], [start], hint="k", carry="total"
        )
        return each[0]

    def scalar(self, what: str, values: dict[int, float], count: Index) -> SSAValue:
        """One of some numbers, by the taps that an output divides by."""
        b = self.b
        if isinstance(count, int):
            return b.real(values[count])
        if what not in self.tables:
            numbers = [values.get(number, 0.0) for number in range(max(values) + 1)]
            self.tables[what] = constant_table(b, self.op, what, np.array(numbers, np.float32))
        return b.load(self.tables[what], [count], what)

    # -- integers ------------------------------------------------------------------------------

    def by_integers(self, at: Output, ranges: Ranges, factors: Factors, count: Index) -> None:
        """Compute an output by sums of integers."""
        b, stores = self.b, self.stores(factors)
        factor = self.scalar("factors", factors.by_count, count)
        less = b.mul(self.taps(ranges), -self.average.point)

        def some(channel: Index, lanes: int | None) -> None:
            places = self.places(at, ranges, channel)
            place = self.target(at, channel)
            if lanes is not None and lanes <= FOUR:
                few = None if lanes == FOUR else lanes
                words = self.sums(ranges, places, self.start(less, mve.I32X4), few)
                self.reals.finish(self.scaled(words, factor), self.out.buffer, place, few)
                return
            total = self.sums(ranges, places, self.start(less, mve.I16X8), lanes)
            even, odd = (b.insert(mve.WidenOp(total, top=top)).result for top in (False, True))
            halves = stores.halves(self.scaled(even, factor), self.scaled(odd, factor))
            b.insert(mve.StoreOp(halves, self.out.buffer, place, lanes, saturated=True))

        self.each(EIGHT, some)

    def sums(self, ranges: Ranges, places: Places, start: SSAValue, lanes: int | None) -> SSAValue:
        """The sums of the bytes of a window, as integers of the type of what they begin with."""
        type_ = as_vector(start.type)

        def row(ky: Index, total: SSAValue) -> SSAValue:
            def tap(kx: Index, total: SSAValue) -> SSAValue:
                value = self.load(places(ky, kx), lanes, type_)
                return self.b.insert(mve.AddOp(total, value), "total").result

            return self.over(ranges[1], tap, total)

        return self.over(ranges[0], row, start)

    def stores(self, factors: Factors) -> ByteStores:
        """What rounds products of sums and some factors."""
        average = self.average
        ends = Ends(average.early or average.ends.point, average.ends.bounds, factors.largest)
        return ByteStores(self.b, self.op, self.out.buffer, ends, self.splat)

    def splat(self, number: int, type_: mve.Vector) -> SSAValue:
        """A vector of a known integer, computed in front of all loops."""
        return self.b.hoist(mve.SplatOp(self.b.integer(number), type_), "vector")

    def start(self, number: Index, type_: mve.Vector) -> SSAValue:
        """What sums begin with."""
        b = self.b
        if not isinstance(number, int):
            word = b.insert(arith.IndexCastOp(number, i32)).result
            return b.insert(mve.SplatOp(word, type_), "start").result
        if (number, type_) not in self.splats:
            self.splats[number, type_] = self.splat(number, type_)
        return self.splats[number, type_]

    def scaled(self, words: SSAValue, factor: SSAValue) -> SSAValue:
        """The products of four sums and a factor."""
        number = self.b.insert(mve.ToFloatOp(words)).result
        return self.b.insert(mve.MulScalarOp(number, factor)).result

    # -- real numbers --------------------------------------------------------------------------

    def by_reals(self, at: Output, ranges: Ranges, count: Index) -> None:
        """Compute an output by sums of real numbers, in the order of the mode."""
        rows, columns = ranges
        divisor = self.divisor(count)

        def some(channel: Index, lanes: int | None) -> None:
            places = self.places(at, ranges, channel)

            def value(ky: Index, kx: Index) -> SSAValue:
                return self.reals.real(self.load(places(ky, kx), lanes, mve.I32X4))

            def column(kx: Index, total: SSAValue) -> SSAValue:
                def tap(ky: Index, part: SSAValue) -> SSAValue:
                    return self.plus(part, value(ky, kx))

                return self.plus(total, self.over(rows, tap, self.zero))

            def row(ky: Index, total: SSAValue) -> SSAValue:
                return self.over(columns, lambda kx, part: self.plus(part, value(ky, kx)), total)

            outer = (columns, column) if self.by_columns else (rows, row)
            total = self.over(*outer, self.zero)
            self.reals.store(total, divisor, self.out.buffer, self.target(at, channel), lanes)

        self.each(FOUR, some)

    @cached_property
    def zero(self) -> SSAValue:
        """Four sums of nothing, in front of all loops."""
        return self.b.hoist(mve.SplatOp(self.b.real(0.0), mve.F32X4), "zero")

    def plus(self, total: SSAValue, value: SSAValue) -> SSAValue:
        """The sum of two vectors; that of zeros and a vector is the vector."""
        return value if total is self.zero else self.reals.add(total, value)

    def divisor(self, count: Index) -> Divisor:
        """A number of taps as a divisor."""
        if isinstance(count, int):
            return Divisor.of(self.b, float(count))
        inverses = {each: reciprocal(float(each)) for each in self.counts}
        inverse = self.scalar("inverses", inverses, count)
        return Divisor(self.b.to_real(self.b.sub(0, count)), inverse)
