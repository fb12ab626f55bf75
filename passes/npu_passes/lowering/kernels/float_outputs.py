"""What becomes of sums of floats in vectors: bounds, a fused addition, and the store.

    %y = mve.max %low, %sums : vector<4xf32>
    %r = mve.load %residual[%c0] : memref<4xf32, strided<[49]>, #npu.sram> -> vector<4xf32>
    %s = mve.add %r, %y : vector<4xf32>
    mve.store %s, %out[%c0] : vector<4xf32>, memref<4xf32, strided<[49]>, #npu.sram>

The lanes are neighbouring channels of a pixel, or neighbouring pixels of a channel. They may lie
anywhere, at equal distances. Each lane gets the bits that the general loops give, but subnormal
floats count as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu import Conv2dOp, FullyConnectedOp, PoolAttr
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.pointwise import ActivationAttr, PointwiseAttr
from npu_passes.lowering.kernels.layer import Maps
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.vector_plan import LANES


def has_float_vectors(op: Conv2dOp | FullyConnectedOp) -> bool:
    """Whether a layer is of floats, and all that happens to its sums is done on vectors."""
    floats = all(element_of(value) == f32 for value in (op.input, op.weight))
    if not floats or op.accumulate is not None or not are_bounds(op.activation):
        return False
    if isinstance(op, FullyConnectedOp):
        return True
    pool = op.pool
    return (
        (pool is None or op.residual is None)
        and op.overlap != Overlap.ACCUMULATE
        and are_bounds(op.sum_activation)
    )


def are_bounds(activation: PointwiseAttr | None) -> bool:
    """Whether an activation is missing, or consists of bounds."""
    return activation is None or isinstance(activation, ActivationAttr)


class FloatOutputs:
    """Finishes and stores vectors of sums of one image of a layer."""

    def __init__(
        self,
        b: LoopBuilder,
        op: Conv2dOp | FullyConnectedOp,
        maps: Maps,
        *,
        along: int = 1,
        step: int = 1,
    ) -> None:
        """Store vectors along an axis of the maps: 1 for channels, 3 for columns.

        `step`: their distance in columns.
        """
        self.b, self.op, self.maps, self.along, self.step = b, op, maps, along, step
        self.known: dict[float, SSAValue] = {}

    def splat(self, number: float) -> SSAValue:
        """A vector of a known float, computed in front of all loops."""
        if number not in self.known:
            splat = mve.SplatOp(self.b.real(number), mve.F32X4)
            self.known[number] = self.b.hoist(splat, "vector")
        return self.known[number]

    def first(self, pool: PoolAttr) -> SSAValue:
        """The first value of the maximum or sum of a pooling window."""
        return self.splat(-inf if pool.is_max else 0.0)

    def folded(self, pool: PoolAttr, best: SSAValue, sums: SSAValue) -> SSAValue:
        """The maxima or sums so far, with some more sums of the convolution."""
        if pool.is_max:
            return self.b.insert(mve.MaximumOp(sums, best), "best").result
        return self.b.insert(mve.AddOp(best, self.bounded(sums, self.op.activation)), "best").result

    def bounded(self, value: SSAValue, activation: PointwiseAttr | None) -> SSAValue:
        """A vector within the bounds of an activation; NaN stays NaN."""
        if not isinstance(activation, ActivationAttr):
            return value
        low, high = activation.bounds
        if low != -inf:
            value = self.b.insert(mve.MaxOp(self.splat(low), value), "y").result
        if high != inf:
            value = self.b.insert(mve.MinOp(self.splat(high), value), "y").result
        return value

    def lanes(self, map: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """A view of `count` elements from a place on."""
        reach = (count - 1) * self.step + 1
        sizes = [reach if axis == self.along else 1 for axis in range(4)]
        return self.b.window(map, at, sizes, (self.along,), map.name_hint, self.step)

    def put(self, sums: SSAValue, channel: Index, count: int, row: Index, column: Index) -> None:
        """Finish and store a vector of sums: `count` outputs, from this one on."""
        b, op, at = self.b, self.op, (0, channel, row, column)
        first = None if count == LANES else count
        value = self.bounded(sums, op.activation)
        residual = self.maps.residual
        if isinstance(op, Conv2dOp) and op.addition is not None and residual is not None:
            view = self.lanes(residual, at, count)
            other = b.insert(mve.LoadOp(view, b.value(0), mve.F32X4, first), "residual").result
            summands = op.addition.ordered(other, value)
            value = b.insert(mve.AddOp(*summands)).result
            value = self.bounded(value, op.sum_activation)
        b.insert(mve.StoreOp(value, self.lanes(self.maps.out, at, count), b.value(0), first))

    def put_average(
        self,
        sums: SSAValue,
        channel: Index,
        count: int,
        at: tuple[Index, Index],
        taps: SSAValue,
    ) -> None:
        """Store a vector of the sums of pooling windows over their numbers of taps.

        There is no instruction that divides vectors, so the lanes are divided one by one.
        """
        b, (row, column), out = self.b, at, self.maps.out
        first = None if count == LANES else count
        view = self.lanes(out, (0, channel, row, column), count)
        b.insert(mve.StoreOp(sums, view, b.value(0), first))
        for lane in range(count):
            place = (0, b.add(channel, lane), row, column)
            b.store(b.divf(b.load(out, place, "total"), taps), out, place)
