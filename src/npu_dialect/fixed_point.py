"""The numbers of fixed-point arithmetic that `dsp.rescale` and the plans for it share. No IR."""

from __future__ import annotations

WORD_BITS = 32
LEAST_SHIFT, MOST_SHIFT = 1, 20
"""The bits of a fraction in `dsp.rescale`. Only where results are huge, and most are held between
bounds, there are few."""
MOST_EXPONENT = 126
"""2^-126 is the smallest float32 that is not subnormal."""
MOST_RESULT = 2**15
"""The largest magnitude of a bound in `dsp.rescale`."""
FLOORS = 4
"""What the high word of a product lacks at most, computed from products of halves: three, and one
as it is rounded down itself."""
FLOAT_ERROR_BITS = 22
"""Two factors and their product are rounded to 24 bits: 3 * 2^-24 is less than 2^-22."""


def near_half(largest: int, shift: int) -> int:
    """By how many units of the last bit a fixed-point number and float32 differ at most, together.

    `largest`: the largest result. `shift`: the bits of the fraction.
    """
    return (largest << shift >> FLOAT_ERROR_BITS) + 1 + FLOORS


def limit_near_half(near: int, shift: int) -> int:
    """Up to which fraction, as the upper bits of a word, a fixed-point number is near a half.

    A half and `near` have been added to the number. All are near if its fraction has few bits.
    """
    return min(2 * near << (WORD_BITS - shift), 2**WORD_BITS - 1)
