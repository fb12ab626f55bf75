"""Which steps of a region's loop are steady, and which rows come in them."""

from __future__ import annotations

import pytest

from npu_dialect.npu.row_regions import RegionMap
from npu_dialect.row_times import RowTime
from npu_passes.buffers.region_steps import Steps, steady_steps


def map_of(period: int, delay: int, rows: int, *, end: int = 0, unmoved: int = 0) -> RegionMap:
    """A map of some rows; as many or more are put into its ring."""
    return RegionMap(RowTime(period, delay), rows, end or rows, ring=3, unmoved=unmoved)


def test_all_rings_are_full_and_no_row_is_padding() -> None:
    """Row 2 of the first map is the first one that moves others; rows 8 and 9 are padding."""
    maps = [map_of(1, 0, 8, end=10, unmoved=2), map_of(1, 1, 8)]
    assert steady_steps(maps) == range(2, 8)
    assert steady_steps([map_of(1, 0, 8), map_of(1, 3, 5)]) == range(3, 8)


def test_a_round_has_a_step_for_each_row_of_all_periods() -> None:
    maps = [map_of(1, 0, 30), map_of(2, 3, 14), map_of(4, 5, 7)]
    assert steady_steps(maps) == range(5, 29, 4)
    assert steady_steps([map_of(1, 0, 9), map_of(4, 1, 2)]) is None  # two rounds


@pytest.mark.parametrize("phase", range(4))
def test_rows_in_the_steps_of_a_round(phase: int) -> None:
    """Of a map with a period of two that starts with step 3, a row comes in each other step."""
    found = map_of(2, 3, 14)
    steps = Steps(0, range(5 + phase, 25 + phase, 4), steady=True)
    expected = [row for step in steps.steps for row in range(14) if found.time.step(row) == step]
    assert list(steps.rows(found)) == expected


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (0, 4), (2, 9), (8, 40), (30, 31)])
def test_rows_in_other_steps(start: int, stop: int) -> None:
    found = map_of(2, 3, 14)
    rows = Steps(0, range(start, stop)).rows(found)
    assert list(rows) == [row for row in range(14) if start <= found.time.step(row) < stop]
