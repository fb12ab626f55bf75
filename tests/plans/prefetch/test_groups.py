"""A layer computes in groups where that ends its transfers earlier, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.prefetch.groups import GROUPS, Beside, cycles_in, groups_of
from npu_plans.time.program import Start
from npu_plans.time.rates import Rates

RATES = Rates({}, Fraction(1), Fraction(16), setup=100, jump=4, channels=4)
KERNELS = Start(0, 16 * 1600, 1)
"""1600 cycles of data."""


def even(cycles: int, count: int) -> Sequence[int]:
    return [cycles // count] * count


def test_a_load() -> None:
    """The first of two groups starts behind half of the data, and the second one behind it."""
    beside = Beside(loads=(KERNELS,))
    assert cycles_in(beside, 64, even(1000, 1), RATES) == 100 + 1600 + 1000
    assert cycles_in(beside, 64, even(1000, 2), RATES) == 100 + 1600 + 500
    assert cycles_in(beside, 64, even(4000, 2), RATES) == 100 + 800 + 4000
    assert groups_of(beside, 64, lambda count: even(1000, count), RATES, 99) == 4
    assert groups_of(beside, 64, lambda count: even(1000, count), RATES, 3) == 2
    assert groups_of(beside, 2, lambda count: even(1000, count), RATES, 99) == 2


def test_a_store() -> None:
    """The outputs of a group leave as soon as they are there; the last ones take a start more."""
    beside = Beside(stores=(KERNELS,))
    assert cycles_in(beside, 64, even(1000, 1), RATES) == 1000 + 100 + 1600
    assert cycles_in(beside, 64, even(1000, 2), RATES) == 500 + 100 + 1600
    assert cycles_in(beside, 64, even(9000, 2), RATES) == 9000 + 100 + 800


def test_a_store_beside_another_layer() -> None:
    """What is computed behind the layer hides a part of the store, so groups may save nothing."""
    beside = Beside(stores=(KERNELS,), behind=1200)
    assert cycles_in(beside, 64, even(1000, 1), RATES) == 1000 + 100 + 1600
    assert cycles_in(beside, 64, even(1000, 2), RATES) == 500 + 100 + 1600
    hidden = Beside(stores=(KERNELS,), behind=1700)
    assert groups_of(beside, 64, lambda count: even(1000, count), RATES, 2) == 2
    assert groups_of(hidden, 64, lambda count: even(1000, count), RATES, 99) == 1


def test_a_store_of_what_is_overwritten() -> None:
    """The first group waits for a part of it, less what is computed since its start."""
    beside = Beside(earlier=(KERNELS,))
    assert cycles_in(beside, 64, even(1000, 1), RATES) == 100 + 1600 + 1000
    assert cycles_in(beside, 64, even(1000, 2), RATES) == 100 + 1600 + 500
    assert cycles_in(beside, 64, even(4000, 2), RATES) == 100 + 800 + 4000
    assert groups_of(beside, 64, lambda count: even(1000, count), RATES, 99) == 4
    later = Beside(earlier=(KERNELS,), since=1500)
    assert cycles_in(later, 64, even(1000, 1), RATES) == 100 + 1600 + 1000
    assert cycles_in(later, 64, even(1000, 2), RATES) == 1500 + 1000
    hidden = Beside(earlier=(KERNELS,), since=1700)
    assert groups_of(hidden, 64, lambda count: even(1000, count), RATES, 99) == 1


def test_a_load_moves_behind_a_store_of_what_is_overwritten() -> None:
    other = Start(1, 16 * 400, 1)
    beside = Beside(loads=(other,), earlier=(KERNELS,))
    assert cycles_in(beside, 64, even(1000, 1), RATES) == 100 + 1600 + 400 + 1000


def test_what_the_first_group_needs_starts_first() -> None:
    other = Start(1, 16 * 400, 1)
    beside = Beside(loads=(KERNELS,), others=(other,))
    assert cycles_in(beside, 64, even(4000, 2), RATES) == 100 + 800 + 400 + 4000


def test_groups_that_cost_more_than_they_save() -> None:
    """Each group reads the inputs again, or a part saves less than a start."""
    beside = Beside(loads=(KERNELS,))
    assert groups_of(beside, 64, lambda count: [1000] * count, RATES, 99) == 1
    small = Beside(loads=(Start(0, 16 * 240, 1),))
    assert groups_of(small, 64, lambda count: even(200, count), RATES, 99) == 1
    assert groups_of(small, 64, lambda count: even(202, count), RATES, 99) == 2


@settings(max_examples=100, deadline=None)
@given(
    data=st.integers(0, 5000),
    since=st.integers(0, 5000),
    cycles=st.integers(0, 5000),
    slices=st.integers(1, 20),
    most=st.integers(0, 20),
)
def test_never_slower(data: int, since: int, cycles: int, slices: int, most: int) -> None:
    def work(count: int) -> Sequence[int]:
        return [-(-cycles // count)] * count

    loads, stores = (Start(0, 16 * data, 3),), (Start(1, 16 * data, 1),)
    beside = Beside(loads, stores, earlier=(Start(2, 8 * data, 2),), since=since)
    found = groups_of(beside, slices, work, RATES, most)
    assert found == 1 or (found in GROUPS and found <= min(slices, most))
    whole = cycles_in(beside, slices, work(1), RATES)
    assert cycles_in(beside, slices, work(found), RATES) <= whole


@pytest.mark.parametrize("slices", [1, 2])
def test_one_group_is_the_whole_layer(slices: int) -> None:
    beside = Beside((KERNELS,), (KERNELS,), (KERNELS,))
    whole = 100 + 1600 + 1600 + 1000 + 100 + 1600
    assert cycles_in(beside, slices, [1000], RATES) == whole
