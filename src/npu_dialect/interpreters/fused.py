"""Fused multiply-add of float32 with one rounding, as C's `fmaf` has it.

The product of two float32 numbers is exact in float64, but the sum is not always. Rounded to
float64 and then to float32, it can be wrong by one unit in the last place. So the sum is rounded to
odd: an inexact float64 whose last bit is zero gives way to its neighbour on the side of the exact
sum. What that becomes in float32 is right (S. Boldo and G. Melquiond, "Emulation of FMA and
Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd", IEEE Transactions on Computers,
2008).
"""

from __future__ import annotations

from math import inf, isfinite, nextafter
from struct import pack, unpack
from typing import Any

import numpy as np
import numpy.typing as npt


def fma(a: Any, b: Any, c: Any) -> npt.NDArray[np.float32]:
    """a * b + c of float32 numbers or arrays, rounded once, to the nearest float32."""
    product = np.asarray(np.float64(1) * a * b, np.float64)
    addend = np.asarray(c, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.asarray(product + addend)
        back = total - product
        error = (product - (total - back)) + (addend - back)  # of the sum in float64, exactly
        bits = np.atleast_1d(total).view(np.int64).reshape(total.shape)
        inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
        neighbour = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
        return np.where(inexact, neighbour, total).astype(np.float32)


def scalar_fma(a: float, b: float, c: float) -> float:
    """The same of single numbers, which is faster; the result is a float32 or rounds to one."""
    product = a * b
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    if not isfinite(total) or error == 0 or unpack("<q", pack("<d", total))[0] & 1:
        return total
    return nextafter(total, inf if error > 0 else -inf)
