"""Where the bytes of windows of few channels lie."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.block_plan import BlockPlan
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.gathers import BYTES
from npu_plans.kernels.image_plan import MOST, ImagePlan, cut_positions
from npu_plans.kernels.run_cost import RunCost

AXES = st.builds(
    Axis,
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(1, 2),
).filter(lambda axis: axis.outputs >= 1)


def plan_of(
    rows: Axis, columns: Axis, channels: int = 3, *, mixed: bool = False, follows: bool = True
) -> ImagePlan:
    """A plan for planes."""
    sizes = rows.size, columns.size
    return ImagePlan(rows, columns, channels, sizes[0] * sizes[1], 1, sizes[1], mixed, follows)


@settings(deadline=None)
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
    ("width", "alone", "before", "pairs", "end"),
    [
        (10, False, range(0, 2, 2), range(2, 6, 2), 6),  # the last four, one of which is cut
        (11, True, range(1, 1, 2), range(1, 7, 2), 7),
        (4, False, range(0, 0, 2), range(0, 0, 2), 0),
        (3, True, range(1, 1, 2), range(1, 1, 2), 1),
        (1, True, range(1, 1, 2), range(1, 1, 2), 1),
    ],
)
def test_the_last_outputs_of_a_row_are_computed_together(
    width: int, alone: bool, before: range, pairs: range, end: int
) -> None:
    columns = Axis(width, 3, 1, 1, 1)
    span = interior(columns, None)
    parts = plan_of(Axis(5, 3), columns).parts(span, cut=False)
    assert (parts.alone, parts.before, parts.pairs, parts.end) == (alone, before, pairs, end)
    beside = plan_of(Axis(5, 3), columns, follows=False).parts(span, cut=False)
    assert (beside.alone, beside.end) == (alone, width)


@given(AXES, st.integers(1, 5), st.booleans())
def test_the_parts_of_a_row_are_all_its_outputs(columns: Axis, channels: int, cut: bool) -> None:
    """Pairs whose windows lie on the map are those of the row that do, but for the last outputs."""
    span = interior(columns, None)
    plan = plan_of(Axis(9, 5), columns, channels)
    parts = plan.parts(span, cut=cut)
    found = [0] * parts.alone
    for pair in (*parts.before, *parts.pairs, *parts.behind):
        found += [pair, pair + 1]
    assert [*found, *range(parts.end, columns.outputs)] == list(range(columns.outputs))
    whole = [
        pair
        for pair in (*parts.before, *parts.pairs, *parts.behind)
        if not cut and span.low <= pair < pair + 1 < span.high
    ]
    assert list(parts.pairs) == whole


def test_more_vectors_leave_fewer_outputs_together() -> None:
    """Eight vectors at most. Two outputs are together anyway."""
    columns = Axis(10, 5, 1, 2, 2)
    span = interior(columns, None)
    assert plan_of(Axis(9, 3), columns, 2).parts(span, cut=False).end == 6
    assert plan_of(Axis(9, 5), columns).parts(span, cut=False).end == 10


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


def with_last(
    channels: int, columns: Axis, rows: Axis | None = None
) -> tuple[ImagePlan, BlockPlan]:
    """A plan for channels last, and blocks of two pixels by four filters."""
    rows, steps = rows or columns, (channels, channels * columns.size)
    plan = ImagePlan(rows, columns, channels, 1, *steps)
    return plan, BlockPlan(rows, columns, channels, *steps)


@given(AXES, AXES, st.integers(1, 12), st.integers(1, 40))
def test_filters_share_their_windows(
    rows: Axis, columns: Axis, channels: int, filters: int
) -> None:
    plan, _ = with_last(channels, columns, rows)
    assert plan.total(filters) > plan.total(filters + 1) > plan.vectors
    more, _ = with_last(channels + 16, columns, rows)
    assert more.total(filters) > plan.total(filters)
    assert plan.code(filters) >= 0


def test_padding_takes_instructions_tables_and_code() -> None:
    """Those at a border are gathered with limits, and rows there have code of their own."""
    inside, cut = (with_last(8, Axis(12, 3, 1, *pads))[0] for pads in ((0, 0), (1, 1)))
    assert inside.total(32) < cut.total(32)
    assert inside.code(32) < cut.code(32)
    assert inside.flash < cut.flash


def test_few_filters_are_straight_code() -> None:
    """Four more filters are code of their own, up to sixteen. More have a loop."""
    plan, _ = with_last(8, Axis(12, 3, 1, 1, 1))
    sizes = [plan.code(filters) for filters in (4, 8, 12, 16)]
    steps = {after - before for before, after in pairwise(sizes)}
    assert len(steps) == 1
    assert min(steps) > 0
    assert plan.code(13) == plan.code(16)
    assert plan.code(4) == plan.code(17) == plan.code(200) > 0


@pytest.mark.parametrize(
    ("channels", "size", "filters", "runs"),
    [
        (8, 7, 96, 1),
        (8, 7, 16, 7),  # not worth their code and tables if the layer runs once
        (8, 32, 32, 1),
        (16, 32, 32, 0),  # runs of whole vectors take less, however often
        (64, 7, 96, 0),
    ],
)
def test_where_windows_beat_runs(channels: int, size: int, filters: int, runs: int) -> None:
    """From so many runs of a layer on; 0 if never."""
    plan, cost = with_last(channels, Axis(size, 3, 1, 1, 1))
    found = [plan.beats_runs(cost, filters, 1, each) for each in range(40)]
    assert found == [0 < runs <= each for each in range(40)]


def test_few_outputs_are_not_worth_their_tables() -> None:
    """A row of outputs saves too little; many filters of it, or many rows, do not."""
    columns = Axis(16, 3, 1, 1, 1)
    row, cost = with_last(8, columns, Axis(3, 3))
    assert cost.total > row.total(8)
    assert not row.beats_runs(cost, 8, 1, 1)
    assert row.beats_runs(cost, 256, 1, 1)
    map, cost = with_last(8, columns, Axis(40, 3))
    assert map.beats_runs(cost, 32, 1, 1)


def test_zeros_behind_weights_take_flash() -> None:
    """Nine channels have 15 zeros for each filter, eight have eight. Few outputs pay no 15 ones."""
    for channels, zeros in ((8, 8), (9, 15)):
        axis = Axis(1, 3, 1, 1, 1)
        plan, cost = with_last(channels, axis)[0], RunCost(axis, axis, channels, close=True)
        assert plan.bytes - plan.taps == zeros
        assert plan.beats_runs(cost, 1000, 1, 1) == (zeros == 8)
        assert plan.beats_runs(cost, 1000, 1, 2)
