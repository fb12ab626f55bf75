"""Chooses fixed-point numbers that add, average and multiply bytes as float32 does. No IR.

    fixed = a * factor_a + b * factor_b + start             a sum of two scaled bytes
    fixed = high_word(number * 2^left * factor) + start     an average, or a product of two bytes
    fixed >> shift                                          the result

They are for cores without an FPU. A fixed-point number has `shift` bits of a fraction. It is not
exact, nor is float32, but both are off by less than `near` units of the last bit. `start` holds a
half and `near`. So if the fraction is larger than twice `near`, the result is what float32 gives,
ties to even included; else, once in some hundred times at most, floats must be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, frexp

from npu_dialect.fixed_point import WORD_BITS
from npu_plans.kernels.byte_sums import Summand
from npu_plans.kernels.rescaling import in_range, numbers_of

FLOAT_BITS = 24
"""A float32 operation is off by at most 2^-24 of its result."""
OPERATIONS = 4
"""Float32 operations of a sum whose errors add up: a product, the sum, a quotient, and a spare."""
AROUND_PRODUCT = 6
"""The same of a product, besides its additions: three products, two quotients, and an addition."""
MOST_SUM_SHIFT = 24
"""The most bits of a fraction of a sum: float32 has no more."""
SELDOM_BITS = 8
"""Floats are computed in at most one case of 2^(8 - 1)."""


@dataclass(frozen=True)
class FixedSum:
    """A sum of integers times `factors`, plus `start`, in 32 bits."""

    factors: tuple[int, ...]
    start: int
    shift: int
    near: int


@dataclass(frozen=True)
class FixedProduct:
    """A number times one of `factors`, of which the upper 32 bits count, plus `start`."""

    factors: tuple[int, ...]
    left: int
    start: int
    shift: int
    near: int


def fixed_sum(summands: Sequence[Summand], divisor: float, offset: float) -> FixedSum | None:
    """What gives a sum of scaled integers over a divisor, plus an offset; None if nothing does.

    The offset is added in float32 or later.
    """
    if not in_range(divisor, *(each.scale for each in summands)):
        return None
    ratios = [each.scale / divisor for each in summands]
    pairs = list(zip(summands, ratios, strict=True))
    begin = offset - sum(each.zero_point * ratio for each, ratio in pairs)
    apart = sum(ratio * farthest(each) for each, ratio in pairs) + abs(offset)
    plain = sum(ratio * largest(each) for each, ratio in pairs) + abs(begin)
    if max(apart, plain) >= 2.0**WORD_BITS:
        return None
    shift = min(WORD_BITS - 2 - frexp(max(apart, plain))[1], MOST_SUM_SHIFT)
    if shift < SELDOM_BITS:
        return None
    rounded = sum(largest(each) for each in summands) / 2 + 1
    near = ceil(rounded + OPERATIONS * apart * 2.0 ** (shift - FLOAT_BITS)) + 1
    if near << SELDOM_BITS > 1 << shift:
        return None
    factors = tuple(round(ratio * 2.0**shift) for ratio in ratios)
    start = round(begin * 2.0**shift) + (1 << (shift - 1)) + near
    return FixedSum(factors, start, shift, near)


def fixed_product(
    ratios: Sequence[float],
    limits: Sequence[int],
    additions: int,
    offset: int,
    bounds: tuple[int, int],
) -> FixedProduct | None:
    """What gives numbers of magnitudes up to their limits, times their ratios, plus an offset.

    `limits`: one of each ratio. `additions`: how many roundings of float32 follow each other at
    most, each as large as that of the largest number. All others are as those of the result, of
    which only what lies between the bounds matters.
    """
    numbers = numbers_of(ratios, max(limits))
    if numbers is None:
        return None
    most = max(limit * ratio for limit, ratio in zip(limits, ratios, strict=True))
    seen = min(most, max(abs(bound - offset) for bound in bounds) + 1)
    errors = additions * most + AROUND_PRODUCT * (seen + abs(offset))
    near = ceil(errors * 2.0 ** (numbers.shift - FLOAT_BITS)) + 3
    if near << SELDOM_BITS > 1 << numbers.shift:
        return None
    factors = tuple(round(ratio * 2.0**numbers.exponent) for ratio in ratios)
    start = (offset << numbers.shift) + (1 << (numbers.shift - 1)) + near
    if abs(start) >= 1 << (WORD_BITS - 2):
        return None
    return FixedProduct(factors, numbers.left, start, numbers.shift, near)


def farthest(summand: Summand) -> int:
    """The largest difference of an integer and its zero point."""
    return max(abs(end - summand.zero_point) for end in (summand.low, summand.high))


def largest(summand: Summand) -> int:
    """The largest magnitude of an integer."""
    return max(abs(summand.low), abs(summand.high))
