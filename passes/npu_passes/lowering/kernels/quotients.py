"""Divides vectors of floats by one number, rounded as a division.

    %q = mve.mul_scalar %x, %reciprocal : vector<4xf32>, f32
    %rest = mve.fma_scalar %q, %minus_divisor, %x : vector<4xf32>
    %better = mve.fma_scalar %rest, %reciprocal, %q : vector<4xf32>

`npu_plans/kernels/exact_quotient.py` says why two such corrections are enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.exact_quotient import CORRECTIONS, is_exact, reciprocal


@dataclass(frozen=True)
class Divisor:
    """A number that divides: its negative, and its inverse.

    `corrections`: how many a product with the inverse needs.
    """

    negative: SSAValue
    inverse: SSAValue
    corrections: int = CORRECTIONS

    @staticmethod
    def of(b: LoopBuilder, number: float) -> Divisor:
        """A known number."""
        inverse = b.real(reciprocal(number))
        if is_exact(number):
            return Divisor(inverse, inverse, 0)
        return Divisor(b.real(-number), inverse)


def divided(b: LoopBuilder, values: SSAValue, by: Divisor) -> SSAValue:
    """Four numbers divided by another one, rounded."""
    found = b.insert(mve.MulScalarOp(values, by.inverse), "quotient").result
    for _ in range(by.corrections):
        rest = b.insert(mve.FmaScalarOp(found, by.negative, values), "rest").result
        found = b.insert(mve.FmaScalarOp(rest, by.inverse, found), "quotient").result
    return found
