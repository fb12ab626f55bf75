"""How the depthwise kernel on vectors groups taps and orders channels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npu_passes.lowering.kernels.vector_depthwise import groups_of, in_halves

WEIGHTS = st.integers(1, 12).flatmap(
    lambda taps: st.integers(1, 9).flatmap(
        lambda channels: st.lists(
            st.one_of(st.sampled_from((-128, 127)), st.integers(-128, 127)),
            min_size=taps * channels,
            max_size=taps * channels,
        ).map(lambda numbers: np.array(numbers, np.int8).reshape(taps, channels))
    )
)


@given(WEIGHTS)
def test_no_sum_of_a_group_overflows(weights: np.ndarray) -> None:
    groups = groups_of(weights)
    assert sorted(tap for group in groups for tap in group) == list(range(len(weights)))
    for group in groups:
        largest = np.abs(weights[group].astype(int)).sum(axis=0) * 128
        assert largest.max() < 2**15


def test_taps_share_groups() -> None:
    assert groups_of(np.full((9, 4), 127, np.int8)) == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    assert groups_of(np.full((9, 4), 3, np.int8)) == [list(range(9))]


def test_even_channels_come_before_odd_ones() -> None:
    assert in_halves(np.arange(1, 11)).tolist() == [
        *(1, 3, 5, 7, 2, 4, 6, 8),
        *(9, 0, 0, 0, 10, 0, 0, 0),
    ]
