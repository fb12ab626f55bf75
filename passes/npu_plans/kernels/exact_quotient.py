"""Divides floats by a known number on a vector unit, which has no division. No IR.

    q = x * r                       r: the reciprocal of d, rounded
    q = q + (x - q * d) * r         twice; the rest in brackets is rounded once, and exact

The second correction gives the rounded quotient: the first one leaves less than a unit in the last
place (P. W. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
IBM Journal of Research and Development, 1990, theorem 5.4).
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_dialect.interpreters.fused import fma

CORRECTIONS = 2
"""How often the rest is added."""


def is_exact(divisor: float) -> bool:
    """Whether a product with the reciprocal is the rounded quotient: of powers of two."""
    return frexp(abs(divisor))[0] == 0.5


def reciprocal(divisor: float) -> float:
    """The reciprocal, rounded to a float32."""
    return float(np.float32(1) / np.float32(divisor))


def corrections_of(divisor: float) -> int:
    """How many corrections give the rounded quotient."""
    return 0 if is_exact(divisor) else CORRECTIONS


def quotient(
    values: NDArray[np.float32], divisor: float, corrections: int | None = None
) -> NDArray[Any]:
    """What a vector unit computes of float32 numbers that are neither tiny nor huge.

    `corrections`: as many as give the rounded quotient if it is None.
    """
    r, d = np.float32(reciprocal(divisor)), np.float32(divisor)
    found = values * r
    for _ in range(corrections_of(divisor) if corrections is None else corrections):
        found = fma(fma(found, -d, values), r, found)
    return found
