"""First values of sums as products of idle lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_plans.kernels.idle_lanes import CONSTANTS, idle_word, pays, weights_of

LANES = np.array([CONSTANTS], "<i4").view(np.int8).astype(np.int64)


@given(st.lists(st.integers(-50_000, 50_000), min_size=1, max_size=9))
def test_products_of_the_lanes_are_the_first_values(values: list[int]) -> None:
    found = weights_of(np.array(values))
    if found is None:
        assert max(map(abs, values)) > 48_800
    else:
        np.testing.assert_array_equal(found.astype(np.int64) @ LANES, values)


@pytest.mark.parametrize(("value", "fits"), [(49_215, True), (49_216, False)])
def test_the_largest_values(value: int, fits: bool) -> None:
    assert (weights_of(np.array([0, value])) is not None) == fits
    assert (weights_of(np.array([383 - value])) is not None) == fits  # -48832 is the least one


@pytest.mark.parametrize(
    ("size", "first", "last"),
    [(27, 3, 3), (28, 3, 3), (29, None, None), (16, None, None), (34, 1, 3), (57, 3, 3), (8, 2, 3)],
)
def test_a_word_without_bytes_of_the_window(size: int, first: int, last: int) -> None:
    assert (idle_word(size, first=True), idle_word(size, first=False)) == (first, last)


def test_lanes_are_set_where_that_takes_less_than_additions() -> None:
    assert pays(1, 2, 2)
    assert not pays(2, 4, 1)
    assert pays(3, 4, 1)
