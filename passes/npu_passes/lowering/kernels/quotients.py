"""Divides vectors of floats by a known number, rounded as a division.

    %q = mve.mul_scalar %x, %reciprocal : vector<4xf32>, f32
    %rest = mve.fma_scalar %q, %minus_divisor, %x : vector<4xf32>
    %better = mve.fma_scalar %rest, %reciprocal, %q : vector<4xf32>

`npu_plans/kernels/exact_quotient.py` says why two such corrections are enough.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_passes.support.loop_builder import LoopBuilder
from npu_plans.kernels.exact_quotient import CORRECTIONS, is_exact, reciprocal


def divided(b: LoopBuilder, values: SSAValue, divisor: float) -> SSAValue:
    """Four numbers divided by another one, rounded."""
    inverse = b.real(reciprocal(divisor))
    found = b.insert(mve.MulScalarOp(values, inverse), "quotient").result
    for _ in range(0 if is_exact(divisor) else CORRECTIONS):
        rest = b.insert(mve.FmaScalarOp(found, b.real(-divisor), values), "rest").result
        found = b.insert(mve.FmaScalarOp(rest, inverse, found), "quotient").result
    return found
