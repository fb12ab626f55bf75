"""An addition rounds floats to halves, as the nearest integers do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.near_halves import (
    FARTHEST_BYTE,
    LARGEST_HALF,
    largest_product,
    near_halves,
)

POINTS = st.integers(-128, 255)


def rounded(numbers: list[float], point: int) -> np.ndarray:
    """The halves of some floats plus a zero point, as a vector unit computes them."""
    x = np.array(numbers, np.float32)
    near = near_halves(float(np.abs(x).max()), point)
    assert near is not None
    halves = (x + np.float32(near.addend)).view(np.uint32).astype(np.uint16).view(np.int16)
    return halves + near.point


@given(st.lists(st.floats(-32000, 32000, width=32), min_size=1), POINTS)
def test_halves_are_the_nearest_integers(numbers: list[float], point: int) -> None:
    wanted = np.rint(np.array(numbers, np.float32)) + point
    np.testing.assert_array_equal(rounded(numbers, point), wanted)


@pytest.mark.parametrize("point", [-128, -3, 0, 4, 127, 255])
def test_ties_go_to_even_numbers_in_front_of_the_zero_point(point: int) -> None:
    ties = [each + 0.5 for each in range(-600, 600)]
    np.testing.assert_array_equal(rounded(ties, point), np.rint(ties) + point)


def test_a_half_must_hold_the_largest_number() -> None:
    assert near_halves(LARGEST_HALF - 129, -128) is not None
    assert near_halves(LARGEST_HALF - 128, -128) is None
    assert near_halves(float("inf"), 0) is None
    assert near_halves(float("nan"), 0) is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40), st.booleans())
def test_no_product_is_larger_than_the_bound(seed: int, filters: int, taps: int, one: bool) -> None:
    random = np.random.default_rng(seed)
    weights = random.integers(-128, 128, (filters, taps))
    bias = random.integers(-9999, 9999, filters)
    scales = random.uniform(0.0001, 2.0, 1 if one else filters).astype(np.float32)
    bound = largest_product(weights, bias, scales.tolist())
    x = random.choice([-FARTHEST_BYTE, FARTHEST_BYTE], (20, taps)) * np.sign(weights[0])
    sums = (x @ weights.transpose() + bias).astype(np.float32)
    assert np.abs(sums * scales).max() <= bound
