"""Where the bytes of windows of few channels lie."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.gathers import BYTES
from npu_plans.kernels.image_plan import MOST, ImagePlan, cut_positions

AXES = st.builds(
    Axis,
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(1, 2),
).filter(lambda axis: axis.outputs >= 1)


def plan_of(rows: Axis, columns: Axis, channels: int = 3, *, mixed: bool = False) -> ImagePlan:
    """A plan for planes."""
    sizes = rows.size, columns.size
    return ImagePlan(rows, columns, channels, sizes[0] * sizes[1], 1, sizes[1], mixed)


@given(AXES, AXES, st.integers(1, 3), st.booleans())
def test_bytes_are_the_taps_of_a_window(
    rows: Axis, columns: Axis, channels: int, mixed: bool
) -> None:
    """Those on the map are at their places, and nothing lies behind it."""
    plan = plan_of(rows, columns, channels, mixed=mixed)
    cut = cut_positions(rows)
    for row, column in product(range(rows.outputs), range(columns.outputs)):
        starts = [
            min(max(axis.start(at), 0), base)
            for axis, at, base in zip((rows, columns), (row, column), plan.bases, strict=True)
        ]
        first = starts[0] * plan.line + starts[1] * plan.pixel
        found = [first + place for vector in plan.places(row, column) for place in vector]
        pads = [pad for vector in plan.pads(row, column) for pad in vector]
        taps = product(range(channels), *(range(axis.kernel) for axis in (rows, columns)))
        for number, (channel, ky, kx) in enumerate(taps):
            y, x = (
                rows.start(row) + ky * rows.dilation,
                columns.start(column) + kx * columns.dilation,
            )
            inside = 0 <= y < rows.size and 0 <= x < columns.size
            assert pads[number] != inside
            if inside:
                assert found[number] == channel * plan.apart + y * plan.line + x
        same = [each for each in range(rows.outputs) if (each in cut) == (row in cut)]
        known = range(rows.outputs) if mixed else same
        reach = plan.reach_of(known, range(columns.outputs))
        assert min(found) >= 0
        assert max(found) < first + reach <= channels * plan.apart


def test_rows_that_padding_cuts_reach_less_far() -> None:
    rows, columns = Axis(9, 3, 1, 1, 1), Axis(8, 3, 1, 1, 1)
    every = range(8)
    assert plan_of(rows, columns, 1).reach_of([4], every) == 2 * 8 + 3
    assert plan_of(rows, columns, 1).reach_of([0, 8], every) == 8 + 3
    assert plan_of(rows, columns, 1, mixed=True).reach_of([0, 8], every) == 2 * 8 + 3


@pytest.mark.parametrize(
    ("width", "pairs", "ends"),
    [
        (10, range(1, 7, 2), [7]),  # the last pair, and the one that padding cuts
        (11, range(1, 7, 2), [7]),
        (4, range(1, 1, 2), [1]),
        (2, range(0, 0, 2), [0]),
    ],
)
def test_the_last_outputs_of_a_row_are_computed_together(
    width: int, pairs: range, ends: list[int]
) -> None:
    columns = Axis(width, 3, 1, 1, 1)
    plan = plan_of(Axis(5, 3), columns)
    parts = plan.parts(interior(columns, None))
    assert (parts.pairs, list(parts.ends), parts.together) == (pairs, ends, 4)


def test_more_vectors_leave_fewer_outputs_together() -> None:
    columns = Axis(10, 5, 1, 2, 2)
    parts = plan_of(Axis(9, 5), columns).parts(interior(columns, None))
    assert parts.together == 1
    assert list(parts.ends) == [8, 9]


def test_what_fits() -> None:
    plan = plan_of(Axis(9, 3), Axis(9, 3))
    assert (plan.taps, plan.vectors, plan.bytes) == (27, 2, 2 * BYTES)
    assert plan.fits(MOST // 2)
    assert not plan.fits(MOST // 2 + 1)
    assert not replace(plan, rows=Axis(9, 1), columns=Axis(9, 2)).fits(1)
    assert not replace(plan, apart=1 << 15).fits(1)


def test_tables_have_a_price() -> None:
    """Nine classes of two vectors, of two bytes for a place and two for limits."""
    plan = plan_of(Axis(9, 3, 1, 1, 1), Axis(40, 3, 1, 1, 1))
    assert plan.flash == 9 * 32 * 4
    assert plan.pays(4, 1)
    near = plan_of(Axis(9, 3), Axis(8, 3), 1)
    assert near.is_near
    assert near.flash == BYTES
    small = plan_of(Axis(3, 3, 1, 1, 1), Axis(3, 3, 1, 1, 1))
    assert not small.pays(4, 1)
    assert small.pays(4, 100)
