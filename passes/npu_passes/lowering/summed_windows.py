"""Lower windows of averages of bytes to loops over integer sums, each times a number.

    scf.for %ox = %c1 to %c34 step %c1 {
      %s = arith.addi %sum, %x : i32                 // the taps of a small window one by one
      ...
      %f = arith.sitofp %s : i32 to f32
      %y = arith.mulf %f, %factor : f32              // then rounded
    }

`window_sums.py` says where the result depends on the sum alone. Windows that the border cuts have
loops over their taps, and a table of factors if they divide by several numbers. They may depend on
the order of the mode where the others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect.npu import QuantizedAvgPool2dOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.window_sums import Axes
from npu_passes.support import integers
from npu_passes.support.common import for_each, walk, window_start
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.conv_plan import interior


@dataclass(frozen=True)
class Sums:
    """What is computed of any window: its sum, less the zero point each; by how many taps it is
    divided; and its byte by real numbers.
    """

    sum_of: Callable[[Sequence[Index]], SSAValue]
    count: Callable[[Index, Index], Index]
    by_reals: Callable[[Sequence[Index]], SSAValue]


@dataclass(frozen=True)
class SummedWindows:
    """Builds the loops of a layer.

    `inner`: what sums of windows on the map are multiplied by. `outer`: what those of others are,
    for each number of taps; None if their bytes depend on more than the sum.
    """

    b: LoopBuilder
    op: QuantizedAvgPool2dOp
    out: SSAValue
    axes: Axes
    ends: Ends
    inner: float
    outer: Mapping[int, float] | None
    sums: Sums

    def build(self, most: int) -> None:
        """Visit all outputs; windows on the map of at most so many taps are straight code."""
        b, rows, columns = self.b, *self.axes
        area = rows.kernel * columns.kernel

        def channel(at: tuple[Index, ...]) -> None:
            def whole(y: Index, x: Index, _: int) -> None:
                place = (*at, y, x)
                total = self.sum_of_whole(place) if area <= most else self.sums.sum_of(place)
                self.put(total, b.real(self.inner), place)

            def cut(y: Index, x: Index) -> None:
                self.cut((*at, y, x))

            walk(b, interior(rows, None), interior(columns, None), 1, whole, cut)

        for_each(b, shape_of(self.out)[:2], channel, ("n", "c"))

    def sum_of_whole(self, at: Sequence[Index]) -> SSAValue:
        """The sum of a window that lies on the map, less the zero point each."""
        b, (rows, columns) = self.b, self.axes
        taps = [(y, x) for y in range(rows.kernel) for x in range(columns.kernel)]
        total = b.integer(-int_values(self.op.zero_points)[0] * len(taps))
        top, left = (window_start(b, axis, place) for axis, place in zip(self.axes, at[2:]))
        for y, x in taps:
            place = b.add(top, y * rows.dilation), b.add(left, x * columns.dilation)
            value = integers.load(b, self.op.input, (*at[:2], *place))
            total = integers.fits(b, arith.AddiOp, total, value)
        return total

    def cut(self, at: Sequence[Index]) -> None:
        """Compute an output whose window the border cuts."""
        if self.outer is None:
            integers.store(self.b, self.sums.by_reals(at), self.out, at)
            return
        if len(self.outer) == 1:
            factor = self.b.real(next(iter(self.outer.values())))
        else:
            factor = self.b.load(self.table, [self.sums.count(*at[2:])], "factor")
        self.put(self.sums.sum_of(at), factor, at)

    @cached_property
    def table(self) -> SSAValue:
        """What sums of windows that the border cuts are multiplied by, by the number of taps."""
        factors = self.outer or {0: 0.0}
        values = [factors.get(count, 0.0) for count in range(max(factors) + 1)]
        return integers.constant_table(self.b, self.op, "factors", np.array(values, np.float32))

    def put(self, total: SSAValue, factor: SSAValue, at: Sequence[Index]) -> None:
        """Round a sum times a number, and store it."""
        b = self.b
        value = b.mulf(b.insert(arith.SIToFPOp(total, f32)).result, factor)
        value = integers.rounded(b, value, self.ends.point, self.ends.bounds, is_number=True)
        integers.store(b, value, self.out, at)
