"""Strips of rows: what they cover, and how many rows they have."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.axes import AXES
from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import SPARE
from npu_plans.kernels.strip_plan import Strips, plan_strips


@settings(max_examples=200)
@given(rows=AXES, columns=AXES, registers=st.sampled_from([0, 16, 32]))
def test_strips_cover_the_map(rows: Axis, columns: Axis, registers: int) -> None:
    """Between the ends no row is cut, and what is live at once fits into the registers."""
    strips = plan_strips(rows, columns, registers, 512)
    if strips is None:
        return
    low, high = strips.ends.middle(strips.span)
    assert low <= high
    assert all(rows.taps(row) == (0, rows.kernel) for row in range(low, high))
    assert 1 < strips.height == max(strips.height, *strips.heights)
    sums = strips.height * columns.outputs
    assert sums + columns.outputs + columns.kernel <= registers - SPARE
    assert sum(strips.heights) * columns.outputs * rows.kernel * columns.kernel <= 512


def padded(size: int, stride: int = 1) -> Axis:
    """Windows of three taps, as many as divide the size by the stride."""
    return Axis(size, 3, stride, 1 if stride == 1 else 0, 1)


@pytest.mark.parametrize(
    ("rows", "columns", "height", "ends"),
    [
        (padded(3), padded(3), 3, ((3,), ())),  # the map is one strip
        (padded(4), padded(4), 3, ((3, 1), ())),
        (padded(6), padded(6), 2, ((2,), (2,))),
        (padded(25), padded(5), 2, ((1,), (2,))),
        (Axis(8, 3), Axis(6, 3), 3, ((), ())),
    ],
)
def test_how_many_rows(
    rows: Axis, columns: Axis, height: int, ends: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """The weights of two rows of six outputs stay in registers; three rows would load them anew."""
    strips = plan_strips(rows, columns, 32, 512)
    assert strips is not None
    assert (strips.height, (strips.ends.left, strips.ends.right)) == (height, ends)


def test_no_strips() -> None:
    """A row of twelve outputs leaves no registers for a second, a map of one row has none."""
    assert plan_strips(padded(12), padded(12), 32, 512) is None
    assert plan_strips(Axis(3, 3), padded(6), 32, 512) is None
    assert plan_strips(padded(6), padded(6), 0, 512) is None
    assert plan_strips(padded(6), padded(6), 32, 300) is None  # 324 products


def test_the_rows_with_code_of_their_own() -> None:
    """The loop between the ends has one strip, and what is left is another."""
    strips = plan_strips(padded(25), padded(5), 32, 512)
    assert strips is not None
    assert strips.heights == [1, 2, 2]
    assert Strips(strips.span, 3, strips.ends).heights == [1, 3, 1, 2]
