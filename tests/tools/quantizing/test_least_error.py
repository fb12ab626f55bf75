"""The range with the least squared error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from npu_tools.quantizing.least_error import Histogram, least_error_range, squared_error

FLOATS = st.floats(-1e4, 1e4, width=32)


def histogram_of(values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Histogram:
    """The histogram of an array between its extremes, added in two parts."""
    histogram = Histogram(float(values.min()), float(values.max()))
    histogram.add(values[::2])
    histogram.add(values[1::2])
    return histogram


@given(arrays(np.float32, st.integers(1, 50), elements=FLOATS))
def test_never_worse_than_the_extremes(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> None:
    histogram = histogram_of(values)
    assert histogram.counts.sum() == values.size
    assert histogram.sums.sum() == pytest.approx(values.sum(dtype=np.float64), abs=1e-3)
    low, high = least_error_range(histogram)
    widest = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    assert widest[0] <= low <= 0 <= high <= widest[1]
    numbers, weights = histogram.means
    assert squared_error(numbers, weights, low, high) <= squared_error(numbers, weights, *widest)


def test_zeros_do_not_count() -> None:
    """A map that is mostly zero keeps its range."""
    values = np.random.default_rng(1).normal(0, 1, 2000).astype(np.float32)
    mostly_zero = np.concatenate([np.zeros(200_000, np.float32), values])
    assert least_error_range(histogram_of(mostly_zero)) == least_error_range(histogram_of(values))


def test_few_large_numbers_are_clipped() -> None:
    values = np.random.default_rng(1).normal(0, 1, 1_000_000).astype(np.float32)
    values[0] = 40
    low, high = least_error_range(histogram_of(values))
    assert low < -3
    assert 3 < high < 20
