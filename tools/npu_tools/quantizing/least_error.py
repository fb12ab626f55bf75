"""Chooses the range of a map in which rounding and clipping together lose least.

A wide range has wide steps, so all numbers are rounded more; a narrow range clips the numbers
outside. This file searches for the range with the least squared error over a histogram of the map.
Zeros have no error in any range, as a zero point stands for exactly 0, so maps that are mostly zero
need no special care. (Entropy, which counts how often numbers occur, takes such a map for a map of
zeros.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

BINS = 4096
"""Bins of a histogram: sixteen for each of the 256 steps of the widest range."""
LEVELS = 256
"""How many integers a quantised number may be."""
SHARES = tuple(2.0 ** (-eighth / 8) for eighth in range(41))
"""The parts of the widest range that are tried at either end, from all of it down to 1/32."""


@dataclass
class Histogram:
    """How many numbers lie in each of `BINS` bins between two finite limits, and their sums."""

    low: float
    high: float
    counts: Array = field(default_factory=lambda: np.zeros(BINS))
    sums: Array = field(default_factory=lambda: np.zeros(BINS))

    def add(self, values: Array) -> None:
        """Count numbers; those outside the limits count in the first or the last bin."""
        numbers = values.astype(np.float64).ravel()
        width = (self.high - self.low) / BINS or 1.0
        bins = np.clip((numbers - self.low) / width, 0, BINS - 1).astype(np.int64)
        self.counts += np.bincount(bins, minlength=BINS)
        self.sums += np.bincount(bins, numbers, BINS)

    @property
    def means(self) -> tuple[Array, Array]:
        """The mean of each bin that is not empty, and how many numbers it stands for."""
        held = self.counts > 0
        return self.sums[held] / self.counts[held], self.counts[held]


def squared_error(numbers: Array, weights: Array, low: float, high: float) -> float:
    """The weighted sum of squared errors of numbers that are quantised in a range.

    The range holds zero, and its zero point is an integer, as onnxruntime's quantiser has it.
    """
    scale = (high - low) / (LEVELS - 1)
    if scale <= 0:
        return float(np.sum(weights * numbers**2))
    zero_point = np.rint(-low / scale)
    steps = np.clip(np.rint(numbers / scale) + zero_point, 0, LEVELS - 1) - zero_point
    return float(np.sum(weights * (steps * scale - numbers) ** 2))


def least_error_range(histogram: Histogram) -> tuple[float, float]:
    """The range with the least squared error; never one that loses more than the widest.

    Of ranges that lose the same, the widest is taken.
    """
    numbers, weights = histogram.means
    low, high = min(histogram.low, 0.0), max(histogram.high, 0.0)
    best, least = (low, high), squared_error(numbers, weights, low, high)
    for below in SHARES if low else (1.0,):
        for above in SHARES if high else (1.0,):
            error = squared_error(numbers, weights, low * below, high * above)
            if error < least:
                best, least = (low * below, high * above), error
    return best
