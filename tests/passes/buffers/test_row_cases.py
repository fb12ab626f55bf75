"""Rows of a layer that leave out kernel rows on padding."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_passes.buffers.row_cases import LEAST_SHARE, Case, cut_cases


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    """Windows with at least one output."""
    kernel, dilation = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    reach = (kernel - 1) * dilation + 1
    before, after = draw(st.integers(0, reach)), draw(st.integers(0, reach))
    size = draw(st.integers(max(1, reach - before - after), 20))
    return Axis(size, kernel, draw(st.integers(1, 3)), before, after, dilation)


@settings(max_examples=200)
@given(axes())
@example(Axis(15, 5, 2, 1, 3, 2))
def test_cases_leave_out_taps_on_padding_only(axis: Axis) -> None:
    cases = cut_cases(axis, axis.outputs)
    rows = [row for case in cases for row in case.rows]
    assert sorted(rows) == list(range(axis.outputs))
    assert all(case[1:] != (0, 0) for case in cases[:-1])
    assert sum(case.above > 0 for case in cases) <= 4
    saved = 0
    for case in cases:
        above, below = case.above // axis.dilation, case.below // axis.dilation
        assert (above * axis.dilation, below * axis.dilation) == case[1:]
        for row in case.rows:
            low, high = axis.taps(row)
            assert above <= low
            assert below <= axis.kernel - high
        saved += len(case.rows) * (above + below)
    assert len(cases) == 1 or saved / (axis.outputs * axis.kernel) >= LEAST_SHARE


def test_a_small_map_has_a_layer_for_each_border() -> None:
    assert cut_cases(Axis(3, 3, 1, 1, 1), 3) == [
        Case(range(1), 1, 0),
        Case(range(2, 3), 0, 1),
        Case(range(1, 2)),
    ]


def test_the_rows_of_a_large_map_are_one_layer() -> None:
    assert cut_cases(Axis(12, 3, 1, 1, 1), 12) == [Case(range(12))]


def test_two_layers_at_each_border_if_they_save_much_more() -> None:
    """Five taps that are two rows apart miss two, two, one and one of them, at both ends."""
    cases = cut_cases(Axis(12, 5, 1, 4, 4, 2), 12)
    assert cases == [
        Case(range(2), 4, 0),
        Case(range(2, 4), 2, 0),
        Case(range(8, 10), 0, 2),
        Case(range(10, 12), 0, 4),
        Case(range(4, 8)),
    ]


def test_one_layer_at_each_border_if_two_save_little() -> None:
    """Of seven taps, three, two and one are missing; two are left out where as many are."""
    cases = cut_cases(Axis(10, 7, 1, 3, 3), 10)
    assert cases == [Case(range(2), 2, 0), Case(range(8, 10), 0, 2), Case(range(2, 8))]
