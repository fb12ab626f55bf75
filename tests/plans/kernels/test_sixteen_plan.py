"""Sixteen channels in lanes: groups of taps, the order of words, and counts."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.sixteen_plan import (
    LARGEST,
    SixteenPlan,
    groups_of,
    in_words,
    is_worth,
    output_instructions,
    spans,
)

WEIGHTS = st.lists(st.lists(st.integers(-128, 127), min_size=3, max_size=3), min_size=1, max_size=9)


@given(WEIGHTS)
def test_sums_of_groups_fit_halves(rows: list[list[int]]) -> None:
    weights = np.array(rows)
    groups = groups_of(weights, range(len(rows)))
    assert sorted(tap for group in groups for tap in group) == list(range(len(rows)))
    for group in groups:
        assert np.abs(weights[group]).sum(axis=0).max() <= LARGEST or len(group) == 1


def test_the_better_order_is_taken_and_the_largest_group_comes_first() -> None:
    weights = np.array([[100], [100], [150], [150], [5]])
    assert groups_of(weights, range(5)) == [[2, 0, 4], [3, 1]]


def test_words_hold_even_channels_first_and_of_these_every_second_one() -> None:
    (words,) = in_words(np.arange(16))
    halves = [words[first : first + 8].reshape(2, 4).T.ravel() for first in (0, 8)]
    assert np.stack(halves, axis=1).ravel().tolist() == list(range(16))


@pytest.mark.parametrize(("size", "bodies"), [(3, 3), (6, 3), (2, 2), (1, 1)])
def test_positions_with_equal_taps_are_together(size: int, bodies: int) -> None:
    axis = Axis(size, 3, 1, 1, 1)
    assert len(spans(axis)) == bodies
    assert sum(each.count for each in spans(axis)) == axis.outputs


def test_counts() -> None:
    """An output of four taps in a group, and a layer of nine such classes."""
    assert output_instructions([4]) == 5 * 4 + 2 * 3 + 8 + 4 + 25 + 12
    assert output_instructions([3, 2]) == 5 * 5 + 2 * 3 + 16 + 4 + 25 + 12
    assert output_instructions([3, 2, 4]) == 5 * 9 + 3 + 2 * 6 + 24 + 4 + 25 + 12
    plan = SixteenPlan(Axis(3, 3, 1, 1, 1), Axis(3, 3, 1, 1, 1))
    taps = [len(plan.taps(y, x)) for y in range(3) for x in range(3)]
    assert sum(taps) == 49
    weights = np.ones((9, 16), np.int8)
    total = plan.total(partial(groups_of, weights))
    assert total == sum(output_instructions([each]) for each in taps) / 16


def test_flash() -> None:
    """Each output has code of its own, and first values if there is a zero point."""
    plan = SixteenPlan(Axis(3, 3, 1, 1, 1), Axis(3, 3, 1, 1, 1))
    groups = partial(groups_of, np.ones((9, 32), np.int8))
    code = 4 * 16 * plan.total(groups)
    assert plan.flash(32, groups, cut=True) == code + 32 * (9 + 4 * 9)
    assert plan.flash(32, groups, cut=False) == code + 32 * (9 + 4)


def test_flash_has_a_price() -> None:
    assert is_worth(4000, 1000)
    assert not is_worth(3999, 1000)
    assert is_worth(1, -1000)
    assert not is_worth(0, -1000)


@pytest.mark.parametrize(
    ("rows", "channels", "fits"),
    [
        (Axis(3, 3, 1, 1, 1), 32, True),
        (Axis(3, 3, 1, 1, 1), 24, False),
        (Axis(3, 4, 1, 1, 2), 32, False),
        (Axis(5, 3, 1, 2, 2), 32, False),
        (Axis(1, 3), 32, False),
    ],
)
def test_which_layers_fit(rows: Axis, channels: int, fits: bool) -> None:
    assert SixteenPlan(rows, Axis(3, 3, 1, 1, 1)).fits(channels) == fits


def test_a_small_first_group_moves_behind() -> None:
    assert groups_of(np.array([[250], [100], [100]]), range(3)) == [[1, 2], [0]]
