"""Finds how a vector unit gives the bytes of a sum of scaled bytes. No IR.

    round(((a - za) * sa + (b - zb) * sb) / s) + z      mode float: six roundings, and a division
    round(a * fa + (b * fb + start)) + point            fused: three roundings

As real numbers both are equal, so they differ only where one is next to a tie. There are few pairs
of bytes, so all of them are computed in both ways. If some differ, neighbours of the three numbers
are tried. `point` is zero if `start` can take in the zero point of the result. If nothing that is
tried gives all bytes, a vector unit does the steps of mode float, with the quotients of
`exact_quotient.py`. Most bytes need none of their corrections, as few sums are next to a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from npu_dialect.interpreters.fused import fma
from npu_plans.kernels.exact_quotient import corrections_of, quotient
from npu_plans.kernels.near_halves import FARTHEST_BYTE

LEAST, MOST = 2.0**-60, 2.0**60
"""Factors between these give no subnormal number, which a vector unit takes for zero, and no
infinite one."""
LEAST_STEP, MOST_STEP = 2.0**-30, 2.0**30
"""With scales between these, the rests of a quotient are not subnormal, so they are exact."""
NEAR = 2.0**-10
"""A value so close to a tie is compared first: others hardly differ."""
STEPS = (0, 1, -1)
"""By how many units in the last place a factor is moved."""
STARTS = (0, 1, -1, 2, -2, 3, -3)
"""By how many the start is."""


@dataclass(frozen=True)
class Summand:
    """Integers from `low` to `high`, less a zero point, times a scale."""

    scale: float
    zero_point: int
    low: int
    high: int


@dataclass(frozen=True)
class FusedSum:
    """round(a * factors[0] + (b * factors[1] + start)) + point; `factors` has one or two."""

    factors: tuple[float, ...]
    start: float
    point: int

    @property
    def largest(self) -> float:
        """A bound of the sums of bytes, or of their differences, before these are rounded."""
        return FARTHEST_BYTE * sum(map(abs, self.factors)) + abs(self.start)

    def of(self, values: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The whole numbers for some integers, before they are saturated."""
        total: NDArray[Any] = np.asarray(np.float32(self.start))
        for value, factor in reversed(list(zip(values, self.factors, strict=True))):
            total = fma(value.astype(np.float32), np.float32(factor), total)
        return np.rint(total.astype(np.float64)) + self.point


@dataclass(frozen=True)
class SteppedSum:
    """round(((a - points[0]) * scales[0] + ...) / divisor) + point, each step rounded.

    `reach`: a bound of the magnitudes of the differences, one for each scale. `corrections`: those
    of the quotient.
    """

    scales: tuple[float, ...]
    points: tuple[int, ...]
    divisor: float
    point: int
    reach: tuple[int, ...]
    corrections: int

    @property
    def largest(self) -> float:
        """A bound of the quotients before these are rounded."""
        terms = sum(abs(scale) * far for scale, far in zip(self.scales, self.reach, strict=True))
        return terms / abs(self.divisor) * (1 + 2**-20)

    def of(self, values: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The whole numbers for some integers, before they are saturated."""
        terms = [
            (value - point).astype(np.float32) * np.float32(scale)
            for value, point, scale in zip(values, self.points, self.scales, strict=True)
        ]
        total = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        return (
            np.rint(quotient(total, self.divisor, self.corrections).astype(np.float64)) + self.point
        )


ByteSum: TypeAlias = FusedSum | SteppedSum
"""How a vector unit computes a sum of scaled bytes."""


def in_range(found: FusedSum) -> FusedSum | None:
    """The same; None if a vector unit might take one of its numbers for zero or infinity."""
    numbers = [*found.factors, *([found.start] if found.start else [])]
    return found if all(LEAST < abs(number) < MOST for number in numbers) else None


@lru_cache(maxsize=256)
def fused_sum(
    summands: tuple[Summand, ...], divisor: float, zero_point: int, bounds: tuple[int, int]
) -> FusedSum | None:
    """What gives the bits of mode float for one or two summands; None if nothing tried does.

    `bounds`: the smallest and the largest result. `npu_dialect/npu/layers/quantized.py` defines
    mode float.
    """
    exact = [each.scale / divisor for each in summands]
    if not all(LEAST < abs(factor) < MOST for factor in (divisor, *exact)):
        return None
    values = grids(summands)
    wanted = in_floats(summands, divisor, zero_point, bounds, values)
    real = sum(
        (value - each.zero_point) * factor
        for value, each, factor in zip(values, summands, exact, strict=True)
    )
    near = np.abs(real - np.floor(real) - 0.5) < NEAR
    close = [value[near] for value in values]
    points = zip(summands, exact, strict=True)
    start = -sum(each.zero_point * factor for each, factor in points)
    for found in candidates(exact, start, zero_point):
        if (np.clip(found.of(close), *bounds) == wanted[near]).all() and (
            np.clip(found.of(values), *bounds) == wanted
        ).all():
            return found
    return None


@lru_cache(maxsize=256)
def stepped_sum(
    summands: tuple[Summand, ...], divisor: float, zero_point: int, bounds: tuple[int, int]
) -> SteppedSum | None:
    """The steps of mode float; None if a vector unit might take a number for zero or infinity.

    The quotient has the fewest corrections that give all bytes.
    """
    scales = tuple(each.scale for each in summands)
    if not all(LEAST_STEP < abs(number) < MOST_STEP for number in (*scales, divisor)):
        return None
    reach = [max(each.high - each.zero_point, each.zero_point - each.low) for each in summands]
    points = tuple(each.zero_point for each in summands)
    values = grids(summands)
    wanted = in_floats(summands, divisor, zero_point, bounds, values)
    for corrections in range(corrections_of(divisor) + 1):
        found = SteppedSum(scales, points, divisor, zero_point, tuple(reach), corrections)
        if (np.clip(found.of(values), *bounds) == wanted).all():
            return found
    return None


def byte_sum(
    summands: tuple[Summand, ...], divisor: float, zero_point: int, bounds: tuple[int, int]
) -> ByteSum | None:
    """What gives the bits of mode float in the fewest instructions; None if nothing does."""
    fused = fused_sum(summands, divisor, zero_point, bounds)
    if fused is not None:
        return fused
    return stepped_sum(summands, divisor, zero_point, bounds)


def candidates(exact: Sequence[float], start: float, zero_point: int) -> Iterator[FusedSum]:
    """What is tried, the best one first."""
    for point in dict.fromkeys((0, zero_point)):
        begin = np.float32(start + zero_point - point)
        for steps in product(STEPS, repeat=len(exact)):
            factors = tuple(
                moved(np.float32(each), step) for each, step in zip(exact, steps, strict=True)
            )
            for step in STARTS:
                if (found := in_range(FusedSum(factors, moved(begin, step), point))) is not None:
                    yield found


def moved(number: np.float32, steps: int) -> float:
    """A number some units in the last place away."""
    for _ in range(abs(steps)):
        number = np.nextafter(number, np.float32(np.inf if steps > 0 else -np.inf))
    return float(number)


def grids(summands: Sequence[Summand]) -> list[NDArray[np.int64]]:
    """All combinations of the integers of some summands."""
    ranges = [np.arange(each.low, each.high + 1) for each in summands]
    return [each.ravel() for each in np.meshgrid(*ranges, indexing="ij")]


def in_floats(
    summands: Sequence[Summand],
    divisor: float,
    zero_point: int,
    bounds: tuple[int, int],
    values: Sequence[NDArray[np.int64]],
) -> NDArray[np.float64]:
    """The results of mode float for some integers."""
    terms = [
        (value - each.zero_point).astype(np.float32) * np.float32(each.scale)
        for value, each in zip(values, summands, strict=True)
    ]
    total = terms[0] if len(terms) == 1 else terms[0] + terms[1]
    rounded = np.rint(total / np.float32(divisor)).astype(np.float64)
    return np.clip(rounded + zero_point, *bounds)
