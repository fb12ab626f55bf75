"""An addition rounds floats to halves, as the nearest integers do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from npu_plans.kernels.near_halves import (
    FARTHEST_BYTE,
    LARGEST_HALF,
    largest_product,
    near_halves,
)

POINTS = st.integers(-128, 255)
SOME_POINTS = (-128, -127, -3, 0, 4, 127, 255)


def largest(point: int) -> int:
    """The largest number that may become a half plus a zero point."""
    return LARGEST_HALF - 1 - abs(point)


def rounded(x: NDArray[np.float32], point: int) -> NDArray[np.int64]:
    """The halves of some floats plus a zero point, as a vector unit computes them."""
    near = near_halves(float(np.abs(x).max()), point)
    assert near is not None
    halves = (x + np.float32(near.addend)).view(np.uint32).astype(np.uint16).view(np.int16)
    found = halves.astype(np.int64) + near.point
    np.testing.assert_array_equal(found, found.astype(np.int16))
    return found


@given(POINTS, st.data())
def test_halves_are_the_nearest_integers(point: int, data: st.DataObject) -> None:
    most = largest(point)
    x = np.array(data.draw(st.lists(st.floats(-most, most, width=32), min_size=1)), np.float32)
    np.testing.assert_array_equal(rounded(x, point), np.rint(x) + point)


@pytest.mark.parametrize("point", SOME_POINTS)
def test_ties_go_to_even_numbers_in_front_of_the_zero_point(point: int) -> None:
    """All ties there are, and the floats beside them."""
    most = largest(point)
    ties = np.arange(-most, most, dtype=np.float32) + np.float32(0.5)
    for x in (ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, ties * 2)):
        np.testing.assert_array_equal(rounded(x, point), np.rint(x) + point)


@pytest.mark.parametrize("point", SOME_POINTS)
def test_a_half_must_hold_the_largest_number(point: int) -> None:
    most = float(largest(point))
    assert near_halves(most, point) is not None
    assert near_halves(float(np.nextafter(most, np.inf)), point) is None
    ends = np.array([-most, most], np.float32)
    np.testing.assert_array_equal(rounded(ends, point), [point - most, point + most])


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_unknown_numbers_become_no_halves(number: float) -> None:
    assert near_halves(number, 0) is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40), st.booleans())
def test_no_product_is_larger_than_the_bound(seed: int, filters: int, taps: int, one: bool) -> None:
    """Inputs as far from zero as they may be, with the signs of the weights of some filter."""
    random = np.random.default_rng(seed)
    weights = random.integers(-128, 128, (filters, taps))
    bias = random.integers(-9999, 9999, filters)
    scales = random.uniform(0.0001, 2.0, 1 if one else filters).astype(np.float32)
    bound = largest_product(weights, bias, scales.tolist())
    x = FARTHEST_BYTE * np.sign(weights) * np.where(bias < 0, -1, 1)[:, None]
    sums = (x @ weights.transpose() + bias).astype(np.float32)
    most = float(np.abs(sums * scales).max())
    assert most <= bound <= most * 1.0001


def test_the_bound_of_smaller_inputs_is_smaller() -> None:
    weights, bias = np.array([[[[3, -4]]], [[[1, 1]]]]), np.array([-5, 100])
    assert largest_product(weights, bias, [1.0], 10) == pytest.approx(120, rel=1e-5)
    assert largest_product(weights, bias, [-2.0, 1.0], 10) == pytest.approx(150, rel=1e-5)
