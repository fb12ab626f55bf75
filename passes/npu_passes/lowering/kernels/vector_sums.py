"""Sums of scaled integers on a vector unit: fused multiply-adds, which are rounded once.

    %a = mve.to_float %lhs : vector<4xi32> -> vector<4xf32>
    %b = mve.to_float %rhs : vector<4xi32> -> vector<4xf32>
    %p = mve.fma_scalar %b, %factor_1, %start : vector<4xf32>
    %s = mve.fma_scalar %a, %factor, %p : vector<4xf32>

`npu_plans/kernels/byte_sums.py` finds numbers with which this gives the bytes of `Addition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from npu_dialect import mve
from npu_dialect.npu.quantization import limits_of
from npu_passes.lowering.epilogue import Sum
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.support.integers import Scaling
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.byte_sums import FusedSum, Summand, fused_sum


class FusedSums:
    """Builds the sums of vectors of integers."""

    def __init__(self, b: LoopBuilder, fused: FusedSum) -> None:
        self.b, self.fused = b, fused
        self.start = b.hoist(mve.SplatOp(b.real(fused.start), mve.F32X4), "start")

    def of(self, values: Sequence[SSAValue]) -> SSAValue:
        """Four sums, not rounded yet; the point of the sum is not added."""
        b, total = self.b, self.start
        for value, factor in reversed(list(zip(values, self.fused.factors, strict=True))):
            number = b.insert(mve.ToFloatOp(value)).result
            total = b.insert(mve.FmaScalarOp(number, b.real(factor), total), "total").result
        return total


@dataclass(frozen=True)
class FusedAddition:
    """Adds a residual to the requantised sums of a convolution.

    `ends`: what is added to the rounded sums, and their bounds.
    """

    total: Sum
    sums: FusedSums
    ends: Ends

    @staticmethod
    def of(
        b: LoopBuilder, total: Sum, scaling: Scaling, element: Attribute
    ) -> FusedAddition | None:
        """The addition; None if it is not one of mode float, or if no fused form gives its bits.

        `element`: that of the residual. Sums come without the zero point of `scaling`.
        """
        quantised, clause = total.quantised, total.clause
        if quantised is None or quantised.mode != "float":
            return None
        *scales, divisor = quantised.scales
        *points, point = quantised.points
        own_first = not clause.residual_first
        zero, (low, high) = scaling.zero_point, scaling.bounds
        summands = tuple(
            Summand(scale, at - zero, low - zero, high - zero)
            if is_first == own_first
            else Summand(scale, at, *limits_of(element))
            for scale, at, is_first in zip(scales, points, (True, False), strict=True)
        )
        fused = fused_sum(summands, divisor, point, quantised.bounds)
        if fused is None:
            return None
        ends = Ends(fused.point, quantised.bounds, fused.largest)
        return FusedAddition(total, FusedSums(b, fused), ends)

    def of_words(self, own: SSAValue, residual: SSAValue) -> SSAValue:
        """The sums of a vector of requantised sums and one of the residual, not rounded."""
        return self.sums.of(self.total.clause.ordered(residual, own))
