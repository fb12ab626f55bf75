"""Finds the one factor that gives the bytes of a product of scaled bytes. No IR.

    round(((a - za) * sa) * ((b - zb) * sb) / s) + z        mode float: four roundings, a division
    round((a - za) * (b - zb) * factor) + z                 one rounding, as a float holds integers

As real numbers both are equal, so they differ only where one is next to a tie. There are few pairs
of bytes, so all of them are computed in both ways. If some differ, neighbours of the factor are
tried. Mode qlinear adds z before it rounds, and is compared in the same way. Two pairs with one
product of differences may have different bytes; no factor gives these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.byte_sums import LEAST, MOST, Summand, grids, moved
from npu_plans.kernels.near_halves import FARTHEST_BYTE

FARTHEST_STEP = 8
"""By how many units in the last place the factor is moved at most."""
STEPS = tuple(sorted(range(-FARTHEST_STEP, FARTHEST_STEP + 1), key=abs))
"""The moves that are tried, the smallest ones first."""
FARTHEST_PRODUCT = FARTHEST_BYTE**2
"""The largest product of two differences of bytes and zero points."""


def in_range(operands: tuple[Summand, Summand], divisor: float) -> bool:
    """Whether a vector unit takes no number that counts for zero or infinity."""
    lhs, rhs = (each.scale for each in operands)
    numbers = (lhs, rhs, lhs * rhs, divisor, lhs * rhs / divisor)
    return all(LEAST < abs(number) < MOST for number in numbers)


@lru_cache(maxsize=256)
def product_factor(
    operands: tuple[Summand, Summand],
    divisor: float,
    zero_point: int,
    bounds: tuple[int, int],
    mode: str = "float",
) -> float | None:
    """The factor for two operands; None if none that is tried gives all bytes of a mode.

    `bounds`: the smallest and the largest result. `mode`: float or qlinear, as
    `npu_dialect/npu/layers/quantized_binary.py` defines them.
    """
    if not in_range(operands, divisor):
        return None
    lhs, rhs = (each.scale for each in operands)
    values = [
        value - each.zero_point for value, each in zip(grids(operands), operands, strict=True)
    ]
    wanted = results(values, (lhs, rhs, divisor), zero_point, mode)
    products = (values[0] * values[1]).astype(np.float32)
    for step in STEPS:
        factor = moved(np.float32(lhs * rhs / divisor), step)
        found = np.rint(products * np.float32(factor)).astype(np.float64) + zero_point
        if (np.clip(found, *bounds) == np.clip(wanted, *bounds)).all():
            return factor
    return None


def results(
    values: Sequence[NDArray[Any]], scales: tuple[float, float, float], zero_point: int, mode: str
) -> NDArray[np.float64]:
    """The whole numbers of a mode for some differences, before they are saturated."""
    sa, sb, s = map(np.float32, scales)
    lhs, rhs = (value.astype(np.float32) for value in values)
    if mode == "qlinear":
        return np.rint(lhs * rhs * (sa * sb / s) + np.float32(zero_point)).astype(np.float64)
    return np.rint((lhs * sa) * (rhs * sb) / s).astype(np.float64) + zero_point
