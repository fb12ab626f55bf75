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
from npu_plans.kernels.exact_quotient import CORRECTIONS, corrections_of, reciprocal


@dataclass(frozen=True)
class Divisor:
    """A number that divides: its negative, and its inverse.

    `corrections`: how many a product with the inverse needs.
    """

    negative: SSAValue
    inverse: SSAValue
    corrections: int = CORRECTIONS

    @staticmethod
    def of(b: LoopBuilder, number: float, corrections: int | None = None) -> Divisor:
        """A known number; with as many corrections as give rounded quotients, if none are said."""
        inverse = b.real(reciprocal(number))
        needed = corrections_of(number) if corrections is None else corrections
        return Divisor(b.real(-number) if needed else inverse, inverse, needed)


def divided(b: LoopBuilder, values: SSAValue, by: Divisor) -> SSAValue:
    """Four numbers divided by another one, rounded."""
    found = b.insert(mve.MulScalarOp(values, by.inverse), "quotient").result
    for _ in range(by.corrections):
        rest = b.insert(mve.FmaScalarOp(found, by.negative, values), "rest").result
        found = b.insert(mve.FmaScalarOp(rest, by.inverse, found), "quotient").result
    return found
