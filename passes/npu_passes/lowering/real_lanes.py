"""Averages of bytes as four float32 sums in the lanes of a vector, with the bits of scalar code.

    %w = mve.add_scalar %x, %less : vector<4xi32>, i32          // less the zero point
    %f = mve.to_float %w : vector<4xi32> -> vector<4xf32>
    %r = mve.mul_scalar %f, %scale : vector<4xf32>, f32
    %s = mve.add %sum, %r : vector<4xf32>
    ...                                                        // divided twice, and rounded
    mve.store %q, %ofm[%at] : vector<4xi32>, memref<64xi8, #npu.sram>

Quotients are rounded as divisions are (`kernels/quotients.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.kernels.quotients import Divisor, divided
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.byte_sums import LEAST, MOST


@dataclass(frozen=True)
class Average:
    """(q - point) * scale of some elements, added up, and divided by their number and by a scale.

    `ends`: what is added to the rounded quotient, and its bounds. `early`: what is added to the
    quotient before it is rounded.
    """

    point: int
    scale: float
    divisor: float
    ends: Ends
    early: int = 0

    @property
    def in_range(self) -> bool:
        """Whether no number is so small or so large that vectors compute something else."""
        return all(LEAST < abs(each) < MOST for each in (self.scale, self.divisor))


class RealLanes:
    """Builds the arithmetic."""

    def __init__(self, b: LoopBuilder, average: Average) -> None:
        self.b, self.average = b, average

    def add(self, one: SSAValue, other: SSAValue) -> SSAValue:
        """The sums of two vectors."""
        return self.b.insert(mve.AddOp(one, other), "lane").result

    def zero(self) -> SSAValue:
        """Four sums of nothing."""
        return self.b.insert(mve.SplatOp(self.b.real(0.0), mve.F32X4), "zero").result

    def real(self, words: SSAValue) -> SSAValue:
        """The real numbers of four elements."""
        b, average = self.b, self.average
        if average.point:
            words = b.insert(mve.AddScalarOp(words, b.integer(-average.point)), "x").result
        number = b.insert(mve.ToFloatOp(words)).result
        return b.insert(mve.MulScalarOp(number, b.real(average.scale)), "x").result

    def store(
        self, total: SSAValue, count: Divisor, memory: SSAValue, at: Index, lanes: int | None
    ) -> None:
        """Divide, round and store four sums."""
        b = self.b
        value = divided(b, divided(b, total, count), Divisor.of(b, self.average.divisor))
        self.finish(value, memory, at, lanes)

    def finish(self, value: SSAValue, memory: SSAValue, at: Index, lanes: int | None) -> None:
        """Round and store four quotients."""
        b, ends = self.b, self.average.ends
        if self.average.early:
            early = b.real(float(self.average.early))
            value = b.insert(mve.AddScalarOp(value, early), "quotient").result
        words = b.insert(mve.RoundOp(value), "q").result
        for kind, bound in zip((mve.MaxOp, mve.MinOp), ends.bounds, strict=True):
            limit = b.insert(mve.SplatOp(b.integer(bound - ends.point), mve.I32X4), "limit").result
            words = b.insert(kind(words, limit), "q").result
        if ends.point:
            words = b.insert(mve.AddScalarOp(words, b.integer(ends.point)), "q").result
        b.insert(mve.StoreOp(words, memory, b.value(at), lanes))
