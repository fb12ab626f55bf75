"""Finds factors that turn sums of bytes into the averages of mode float. No IR.

    round(((k0 * si + k1 * si) + ...) / n / so) + zo        a chain of roundings of float32
    round((k0 + k1 + ...) * factor) + zo                    an exact sum, and one rounding

The chain depends on the order of the bytes k, less their zero point, and there are too many windows
to compute all of them. But each of its roundings moves a result by at most 2^-24 of it, so a bound
of its distance from the real number is known. Sums are few. If no sum is so close to a tie that the
chain might end on its other side, the byte depends on the sum alone. The product has two roundings,
that of the factor and its own, and the chain has three or more. So the product is no further off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.byte_sums import LEAST, MOST

ROUNDING = 2.0**-24
"""A float32 operation is off by at most this part of its result."""
SPARE = 1 + 2.0**-10
"""What a bound of errors is multiplied by: products of several errors, and the bound's own."""
TINY = 2.0**-60
"""More than what a quotient loses that is too small for 24 bits."""
MOST_ROUNDINGS = 1 << 10
"""`SPARE` covers the products of so many errors."""


@dataclass(frozen=True)
class Chain:
    """Averages in float32: (k * scale, added up) / count / divisor + point, rounded to a byte.

    `low`, `high`: the least and the greatest k. `roundings`: how many a k goes through at most, up
    to the last quotient. `early`: the point is added before the result is rounded. `bounds`: those
    of the result.
    """

    low: int
    high: int
    scale: float
    divisor: float
    roundings: int
    point: int
    bounds: tuple[int, int]
    early: bool = False

    @property
    def in_range(self) -> bool:
        """Whether no number is too small or too large for a bound by parts of it."""
        near = all(LEAST < abs(each) < MOST for each in (self.scale, self.divisor))
        return near and self.low <= 0 <= self.high and self.roundings <= MOST_ROUNDINGS

    def sums(self, count: int) -> NDArray[np.int64]:
        """The sums of `count` bytes. Taps on padding count as zeros."""
        return np.arange(count * self.low, count * self.high + 1)

    def bytes(self, real: NDArray[Any]) -> NDArray[Any]:
        """The results for averages, the point not added."""
        return np.clip(np.rint(real) + self.point, *self.bounds)


def factor_of(chain: Chain, count: int) -> float | None:
    """What a sum is multiplied by for a window that divides by `count`; None if that is not sure.

    Sums are below 2^24, so a float32 holds them.
    """
    if not chain.in_range:
        return None
    sums = chain.sums(count)
    ratio = float(np.float32(chain.scale)) / (float(np.float32(chain.divisor)) * count)
    real, error = sums * ratio, errors(chain, sums, count) * ratio
    if chain.early:
        error = error + ROUNDING * (np.abs(real) + error + abs(chain.point))
    error = error * SPARE + TINY
    is_sure = (chain.bytes(real - error) == chain.bytes(real + error)).all()
    return float(np.float32(ratio)) if is_sure else None


def errors(chain: Chain, sums: NDArray[np.int64], count: int) -> NDArray[Any]:
    """By how much the chain is off at most for each sum, in units of k.

    That is a part of the sum of magnitudes. A magnitude is at most the chord from the least k to
    the greatest one, and the sum of chords depends on the sum of all k alone.
    """
    low, high = chain.low, chain.high
    slope = (high + low) / (high - low)
    magnitudes = count * (-low - low * slope) + sums * slope
    return ROUNDING * chain.roundings * magnitudes
