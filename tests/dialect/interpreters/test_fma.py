"""The interpreter's fused multiply-add rounds once, as C's fmaf does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_dialect.interpreters.fused import fma, scalar_fma

NUMBERS = st.floats(-(2.0**60), 2.0**60, width=32)


def nearest(value: Fraction) -> np.float32:
    """The float32 nearest to a fraction, with ties to even."""
    guess = np.float32(float(value))
    near = [np.nextafter(guess, np.float32(way)) for way in (-np.inf, np.inf)]
    return min(
        (guess, *near),
        key=lambda each: (abs(Fraction(float(each)) - value), int(each.view(np.int32)) & 1),
    )


@settings(max_examples=500, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
@example(1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60)
@example(1 + 2.0**-12, 1 + 2.0**-12, -(2.0**-60))
@example(-1 - 2.0**-12, 1 + 2.0**-12, 2.0**-60)
def test_one_rounding(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    wanted = nearest(exact) if exact else np.float32(0)
    assert fma(np.float32(a), np.float32(b), np.float32(c)) == wanted
    assert np.float32(scalar_fma(a, b, c)) == wanted


def test_two_roundings_would_be_wrong() -> None:
    """The exact sum is one bit beside a tie of two float32; float64 has no room for that bit."""
    a, c = np.float32(1 + 2.0**-12), np.float32(2.0**-60)
    assert fma(a, a, c) == np.float32(1 + 2.0**-11 + 2.0**-23)
    assert np.float32(np.float64(a) * np.float64(a) + np.float64(c)) == np.float32(1 + 2.0**-11)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite(value: float) -> None:
    found = [fma(2, 1, value), fma(0, 0, value), fma(1, value, 3)]
    np.testing.assert_array_equal(found, np.full(3, value, np.float32))
    scalars = [scalar_fma(2, 1, value), scalar_fma(0, 0, value), scalar_fma(1, value, 3)]
    np.testing.assert_array_equal(scalars, np.full(3, value))
