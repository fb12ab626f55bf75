"""Chooses integers that rescale sums as float32 does, for cores without an FPU. No IR.

    round(float32(sum) * scale), held between bounds           mode float
    high_word(sum * 2^left * factor) >> shift, and so on       `dsp.rescale`

The second one gives the bits of the first one if `factor * 2^-exponent` is the scale. A factor has
31 bits and a scale 24, so this is exact unless the scale is much smaller than the largest one of
its layer. There the nearest factor, or one beside it, serves if all sums that can occur agree:
results grow with the sums, so it is enough to compare the sums around each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_dialect.fixed_point import LEAST_SHIFT, MOST_EXPONENT, MOST_RESULT, MOST_SHIFT, WORD_BITS

LARGEST = 2**31 - 1
NEIGHBOURS = (0, 1, -1, 2, -2, 3, -3)
"""By how many a factor is moved if it is not exact."""
AROUND = np.arange(-3, 4)
"""The sums that are compared around a step: it lies within three of where real numbers have it."""
NEAR_SUMS = 2**22
"""Below this sum, float32 moves a step by less than one."""


LEAST, MOST = 2.0**-40, 2.0**40
"""Between these, no product or quotient of some scales is subnormal or infinite in float32."""


def in_range(*scales: float) -> bool:
    """Whether all scales are in the range in which float32 rounds as it should."""
    return all(LEAST < scale < MOST for scale in scales)


@dataclass(frozen=True)
class Numbers:
    """What all sums of a layer share: a factor is its scale times 2^exponent."""

    exponent: int
    left: int

    @property
    def shift(self) -> int:
        """How many bits of the high word are a fraction."""
        return self.exponent + self.left - WORD_BITS


@dataclass(frozen=True)
class Rescaling:
    """The numbers of `dsp.rescale` for a layer; `factors` has one of each scale."""

    factors: tuple[int, ...]
    numbers: Numbers


def numbers_of(scales: Sequence[float], largest: int) -> Numbers | None:
    """Numbers for scaled sums of magnitudes up to `largest`; None if a word does not hold them."""
    if not scales or min(scales) <= 0 or largest > LARGEST:
        return None
    exponent = WORD_BITS - 1 - frexp(max(scales))[1]
    left = min(WORD_BITS - 1 - max(largest, 1).bit_length(), WORD_BITS + MOST_SHIFT - exponent)
    found = Numbers(exponent, left)
    fits = left >= 0 and exponent <= MOST_EXPONENT and found.shift >= LEAST_SHIFT
    return found if fits else None


def rescaling(
    scales: Sequence[float], largest: Sequence[int], bounds: tuple[int, int]
) -> Rescaling | None:
    """How sums up to `largest`, of any sign, are rescaled to integers between bounds.

    `largest`: one of each scale. Returns None if no numbers give the bits of mode float.
    """
    singles = [float(np.float32(scale)) for scale in scales]
    numbers = numbers_of(singles, max(largest, default=0))
    if numbers is None or max(map(abs, bounds)) > MOST_RESULT:
        return None
    factors = [
        factor_of(single, numbers.exponent, limit, bounds)
        for single, limit in zip(singles, largest, strict=True)
    ]
    known = tuple(factor for factor in factors if factor is not None)
    return Rescaling(known, numbers) if len(known) == len(factors) else None


def factor_of(scale: float, exponent: int, largest: int, bounds: tuple[int, int]) -> int | None:
    """The factor of a scale for sums up to `largest`; None if no number gives the same integers."""
    exact = scale * 2.0**exponent
    if exact.is_integer():
        return int(exact)
    if largest > NEAR_SUMS:
        return None
    sums = sums_at_steps(scale, largest, bounds)
    wanted = in_floats(sums, scale, bounds)
    for move in NEIGHBOURS:
        factor = round(exact) + move
        if factor > 0 and (in_floats(sums, scale_of(factor, exponent), bounds) == wanted).all():
            return factor
    return None


def scale_without_divisor(
    scale: float, divisor: float, integers: range, bounds: tuple[int, int]
) -> float | None:
    """One float32 that gives the bits of a product and a quotient, if any does."""
    if not in_range(scale, divisor):
        return None
    values = np.arange(integers.start, integers.stop)
    products = values.astype(np.float32) * np.float32(scale) / np.float32(divisor)
    wanted = np.clip(np.rint(products.astype(np.float64)), *bounds)
    nearest = np.float32(scale / divisor)
    for toward in (nearest, np.float32(np.inf), np.float32(0)):
        found = float(np.nextafter(nearest, toward))
        if (in_floats(values, found, bounds) == wanted).all():
            return found
    return None


def scale_of(factor: int, exponent: int) -> float:
    """The float32 by which `dsp.rescale` multiplies."""
    return float(np.float32(factor) * np.float32(2.0**-exponent))


def sums_at_steps(scale: float, largest: int, bounds: tuple[int, int]) -> NDArray[np.int64]:
    """The sums around those where the result changes, and the two ends."""
    low, high = bounds
    steps = np.floor((np.arange(low, high) + 0.5) / scale)
    steps = steps[np.abs(steps) <= largest + AROUND.max()].astype(np.int64)
    around = (steps[:, None] + AROUND).ravel()
    return np.clip(np.append(around, [-largest, largest]), -largest, largest)


def in_floats(sums: NDArray[Any], scale: float, bounds: tuple[int, int]) -> NDArray[np.float64]:
    """The results of mode float."""
    products = sums.astype(np.float32) * np.float32(scale)
    return np.clip(np.rint(products.astype(np.float64)), *bounds)


def largest_sums(weights: NDArray[Any], bias: NDArray[Any] | None, reach: int) -> list[int]:
    """For each filter of weights [filters, ...] a bound of its sums of inputs up to `reach`."""
    taps = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(axis=1)
    first = np.zeros(len(taps), np.int64) if bias is None else np.abs(bias.astype(np.int64))
    return (taps * reach + first).tolist()
