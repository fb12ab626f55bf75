"""Blocks of neighbouring outputs: what their lanes read, and where they take fewer instructions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.neighbour_plan import (
    MOST_ROWS,
    NeighbourPlan,
    Reach,
    Run,
    channels_in_lanes,
    runs,
)
from npu_plans.kernels.vector_plan import LANES

AXES = st.builds(
    Axis, st.integers(1, 19), st.integers(1, 4), st.integers(1, 3), st.integers(0, 5),
    st.integers(0, 5), st.integers(1, 2),
).filter(lambda axis: axis.outputs > 0)  # fmt: skip


@given(AXES, st.integers(1, 5), st.booleans())
def test_runs_visit_all_outputs(axis: Axis, width: int, again: bool) -> None:
    """From left to right; those that padding cuts are known, and only `again` visits some twice."""
    span = interior(axis, None)
    found = runs(span, width, again=again)
    visited = [
        range(run.first + index * run.width, run.first + (index + 1) * run.width)
        for run in found
        for index in range(run.count)
    ]
    outputs = [output for each in visited for output in each]
    assert sorted(set(outputs)) == list(range(axis.outputs))
    assert len(outputs) == axis.outputs or (again and visited[-1].start == axis.outputs - width)
    for run in found:
        if run.known is None:
            assert span.low <= run.first
            assert run.first + run.count * run.width <= span.high


@given(AXES, st.data())
def test_lanes_read_their_taps(axis: Axis, data: st.DataObject) -> None:
    """A lane reads its element of the map, or zero on padding; no load leaves the map."""
    column = data.draw(st.integers(0, axis.outputs - 1))
    width = data.draw(st.integers(1, min(LANES, axis.outputs - column)))
    found = {each.tap: each for each in Reach.of(axis, column, width)}
    for tap in range(axis.kernel):
        lanes: list[int | None] = [None] * LANES
        if (reach := found.get(tap)) is not None:
            places = [reach.place + index * axis.stride for index in range(reach.count)]
            assert all(0 <= place < axis.size for place in places)
            loaded = [*places, *[None] * LANES]
            lanes = [*[None] * reach.lead, *loaded][:LANES]
        for lane in range(width):
            place = axis.start(column + lane) + tap * axis.dilation
            assert lanes[lane] == (place if 0 <= place < axis.size else None)


def test_strips_of_unknown_columns_are_inside() -> None:
    assert Reach.of(Axis(20, 3, 2, 1, 1), None, LANES) == [
        Reach(0, 0, 0, LANES), Reach(1, 1, 0, LANES), Reach(2, 2, 0, LANES),
    ]  # fmt: skip


def test_which_layers_take_it() -> None:
    """Few columns leave lanes idle, and a step of two gathers, unless many rows share loads."""
    large, small = Axis(12, 3, 1, 1, 1), Axis(3, 3, 1, 1, 1)
    plan = NeighbourPlan.of(large, large, by_rows=False, again=True)
    assert plan is not None
    assert plan.height == MOST_ROWS
    assert plan.strips == [Run(0, 4, 1), Run(4, 4, 1), Run(8, 4, 1)]
    assert plan.instructions < 0.8 * channels_in_lanes(large, large)
    assert NeighbourPlan.of(small, small, by_rows=False, again=True) is None
    assert NeighbourPlan.of(large, large, by_rows=True, again=True) is None
    assert NeighbourPlan.of(large, large, 2, by_rows=True, again=True) is not None
    assert NeighbourPlan.of(large, large, 4, by_rows=True, again=True) is None
    assert NeighbourPlan.of(Axis(12, 5, 1, 2, 2), large, by_rows=False, again=True) is None


def test_no_output_is_computed_again() -> None:
    axis = Axis(14, 3, 1, 1, 1)
    assert NeighbourPlan(axis, axis, 2).strips[-1] == Run(10, 4, 1)
    assert NeighbourPlan(axis, axis, 2, again=False).strips[-1] == Run(12, 2, 1)
