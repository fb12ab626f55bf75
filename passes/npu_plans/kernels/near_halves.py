"""Rounds a float32 to a half by one addition. No IR.

    bits(x + 1.5 * 2^23) modulo 2^16 = round(x) modulo 2^16        for |x| < 2^22, ties to even

Floats from 2^23 to 2^24 are the integers, and their bits count up with them. So the low half of a
sum's bits is the rounded number if that fits into 16 bits with its sign. An even zero point is part
of what is added: it moves no tie from an even integer to an odd one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDER = 3 << 22
"""1.5 * 2^23: the sum of it and a small float32 is an integer."""
LARGEST_HALF = 2**15 - 1
FARTHEST_BYTE = 255
"""The largest difference of a byte and a zero point."""


@dataclass(frozen=True)
class NearHalves:
    """What is added to a float32 to round it, and what is added to the half then."""

    addend: int
    point: int


def near_halves(largest: float, point: int) -> NearHalves | None:
    """How numbers up to `largest`, of any sign, become halves plus a zero point.

    Returns None if a half might not hold them.
    """
    if not largest + abs(point) + 1 <= LARGEST_HALF:
        return None
    odd = point % 2
    return NearHalves(ROUNDER + (0 if odd else point), point if odd else 0)


def largest_product(
    weights: NDArray[Any], bias: NDArray[Any], scales: Sequence[float], reach: int = FARTHEST_BYTE
) -> float:
    """A bound of scaled sums of products of weights [filters, ...] and numbers up to `reach`.

    `scales`: one of all filters, or one for each.
    """
    taps = np.abs(weights.astype(np.float64)).reshape(len(bias), -1).sum(axis=1)
    sums = taps * reach + np.abs(bias.astype(np.float64))
    return float((sums * np.abs(np.asarray(scales, np.float64))).max(initial=0.0)) * (1 + 2**-20)
