"""Window arithmetic against brute force: count the taps one by one."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_dialect.windows import Axis, broadcast

AXES = st.builds(
    Axis,
    size=st.integers(1, 12),
    kernel=st.integers(1, 5),
    stride=st.integers(1, 7),
    before=st.integers(0, 4),
    after=st.integers(0, 4),
    dilation=st.integers(1, 3),
    ceil=st.booleans(),
).filter(lambda axis: axis.after < axis.reach)
"""Axes without a window that lies fully behind the map; `ceil` would drop such a window."""


def positions(axis: Axis) -> list[int]:
    """The first index of each window whose last tap lies in the padded map.

    With `ceil`, there is one more for the rest, unless it starts behind the map.
    """
    starts: list[int] = []
    for start in count(-axis.before, axis.stride):
        if start + axis.reach <= axis.size + axis.after:
            starts.append(start)
            continue
        last_end = (starts[-1] + axis.reach) if starts else axis.size + axis.after
        partial = last_end < axis.size + axis.after
        if axis.ceil and starts and partial and start < axis.size:
            starts.append(start)
        return starts
    return starts


def taps(axis: Axis, start: int) -> list[int]:
    """Input indices of the taps of a window."""
    return [start + tap * axis.dilation for tap in range(axis.kernel)]


@settings(max_examples=300, deadline=None)
@given(axis=AXES)
def test_positions_and_taps(axis: Axis) -> None:
    starts = positions(axis)
    assert max(axis.outputs, 0) == len(starts)
    assert [axis.start(position) for position in range(len(starts))] == starts
    for position, start in enumerate(starts):
        inside = [i for i, x in enumerate(taps(axis, start)) if 0 <= x < axis.size]
        assert list(range(*axis.taps(position))) == inside
        explicit = [x for x in taps(axis, start) if x < axis.size + axis.after]
        assert axis.counted(position) == len(explicit)
        assert 0 <= axis.taps(position)[0] <= axis.taps(position)[1] <= axis.kernel


@settings(max_examples=300, deadline=None)
@given(axis=AXES)
@example(Axis(2, 2, 1, 3, 2, 3)).via("a window between the outer ones steps over the map")
def test_interior_and_input(axis: Axis) -> None:
    windows = [[0 <= x < axis.size for x in taps(axis, start)] for start in positions(axis)]
    whole = [position for position, window in enumerate(windows) if all(window)]
    assert list(range(*axis.interior())) == whole
    assert axis.meets_input == all(map(any, windows))


@given(AXES, st.integers(0, 40))
def test_windows_that_hold_an_element(axis: Axis, element: int) -> None:
    spans = [(axis.start(each), axis.start(each) + axis.reach) for each in range(axis.outputs)]
    found = [each for each, (first, end) in enumerate(spans) if first <= element < end]
    assert list(axis.holders(element)) == found


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4,)), ((1, 0), (5, 1)), ((2,), (3,)), ((2, 3), (2,))],
)
def test_broadcast(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(lhs, rhs)
    except ValueError:
        expected = None
    assert broadcast(lhs, rhs) == expected
