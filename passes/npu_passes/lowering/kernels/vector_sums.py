"""Sums of scaled integers on a vector unit, most as fused multiply-adds, which are rounded once.

    %a = mve.to_float %lhs : vector<4xi32> -> vector<4xf32>
    %b = mve.to_float %rhs : vector<4xi32> -> vector<4xf32>
    %p = mve.fma_scalar %b, %factor_1, %start : vector<4xf32>
    %s = mve.fma_scalar %a, %factor, %p : vector<4xf32>

`npu_plans/kernels/byte_sums.py` finds numbers with which this gives the bytes of `Addition`. If it
finds none, all steps of mode float are done:

    %p = mve.mul_scalar %a, %lhs_scale : vector<4xf32>, f32
    %q = mve.mul_scalar %b, %rhs_scale : vector<4xf32>, f32
    %s = mve.add %p, %q : vector<4xf32>          // divided by products (`quotients.py`)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from npu_dialect import mve
from npu_dialect.npu.quantization import limits_of
from npu_passes.lowering.epilogue import Sum
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.kernels.quotients import Divisor, divided
from npu_passes.support.integers import Scaling
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.byte_sums import ByteSum, FusedSum, SteppedSum, Summand, byte_sum


class Sums(ABC):
    """Builds the sums of vectors of integers."""

    @abstractmethod
    def of(self, values: Sequence[SSAValue]) -> SSAValue:
        """Four sums, not rounded yet; the point of the sum is not added."""


class FusedSums(Sums):
    """Builds fused multiply-adds."""

    def __init__(self, b: LoopBuilder, fused: FusedSum) -> None:
        self.b, self.fused = b, fused
        self.start = b.hoist(mve.SplatOp(b.real(fused.start), mve.F32X4), "start")

    def of(self, values: Sequence[SSAValue]) -> SSAValue:
        """See `Sums`."""
        b, total = self.b, self.start
        for value, factor in reversed(list(zip(values, self.fused.factors, strict=True))):
            number = b.insert(mve.ToFloatOp(value)).result
            total = b.insert(mve.FmaScalarOp(number, b.real(factor), total), "total").result
        return total


class SteppedSums(Sums):
    """Builds the steps of mode float."""

    def __init__(self, b: LoopBuilder, steps: SteppedSum) -> None:
        self.b, self.steps = b, steps

    def of(self, values: Sequence[SSAValue]) -> SSAValue:
        """See `Sums`."""
        b, steps, terms = self.b, self.steps, list[SSAValue]()
        for value, point, scale in zip(values, steps.points, steps.scales, strict=True):
            difference = value
            if point:
                difference = b.insert(mve.AddScalarOp(value, b.integer(-point))).result
            number = b.insert(mve.ToFloatOp(difference)).result
            terms.append(b.insert(mve.MulScalarOp(number, b.real(scale)), "term").result)
        total = terms[0] if len(terms) == 1 else b.insert(mve.AddOp(*terms), "total").result
        return divided(b, total, Divisor.of(b, steps.divisor, steps.corrections))


def sums_of(b: LoopBuilder, found: ByteSum) -> Sums:
    """What builds sums of a kind."""
    return FusedSums(b, found) if isinstance(found, FusedSum) else SteppedSums(b, found)


@dataclass(frozen=True)
class FusedAddition:
    """Adds a residual to the requantised sums of a convolution.

    `ends`: what is added to the rounded sums, and their bounds. `steps`: elements from a pixel of
    the residual to the next one, and from row to row.
    """

    total: Sum
    sums: Sums
    ends: Ends
    steps: tuple[int, int]

    @staticmethod
    def of(
        b: LoopBuilder,
        total: Sum,
        scaling: Scaling,
        element: Attribute,
        steps: tuple[int, int],
    ) -> FusedAddition | None:
        """The addition; None if it is not one of mode float, or if its scales are out of range.

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
        found = byte_sum(summands, divisor, point, quantised.bounds)
        if found is None:
            return None
        ends = Ends(found.point, quantised.bounds, found.largest)
        return FusedAddition(total, sums_of(b, found), ends, steps)

    def of_words(self, own: SSAValue, residual: SSAValue) -> SSAValue:
        """The sums of a vector of requantised sums and one of the residual, not rounded."""
        return self.sums.of(self.total.clause.ordered(residual, own))
