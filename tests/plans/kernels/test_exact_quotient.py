"""Quotients without a division."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.exact_quotient import is_exact, quotient, reciprocal

NUMBERS = st.floats(-(2.0**40), 2.0**40, width=32, allow_subnormal=False).filter(
    lambda number: number == 0 or abs(number) > 2.0**-40
)
DIVISORS = st.one_of(
    st.integers(1, 5000).map(float),
    st.floats(2.0**-20, 2.0**20, width=32),
)


@given(st.lists(NUMBERS, min_size=1, max_size=30), DIVISORS)
def test_quotients_are_rounded_as_divisions_are(numbers: list[float], divisor: float) -> None:
    values = np.array(numbers, np.float32)
    np.testing.assert_array_equal(quotient(values, divisor), values / np.float32(divisor))


@pytest.mark.parametrize("divisor", [3.0, 9.0, 25.0, 49.0, 125.0, 144.0, 0.0123, 0.3, 1.9999999])
def test_many_neighbours(divisor: float) -> None:
    """Numbers whose mantissas are neighbours, from one power of two to the next."""
    values = (np.arange(2**23, 2**24, 97, dtype=np.int64) / 2**23).astype(np.float32)
    np.testing.assert_array_equal(quotient(values, divisor), values / np.float32(divisor))


def test_powers_of_two_need_one_product() -> None:
    assert [is_exact(each) for each in (1.0, 64.0, 0.25, 3.0, 0.3)] == [True] * 3 + [False] * 2
    assert reciprocal(64.0) == 2.0**-6
