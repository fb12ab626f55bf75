"""Blocks of two pixels by four filters over runs of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.block_plan import LONGEST, PARTS, BlockPlan, Part


def plan_of(
    channels: int, columns: Axis, rows: Axis | None = None, pool: tuple[Axis, Axis] | None = None
) -> BlockPlan:
    """The plan of a map without gaps."""
    rows = rows or columns
    return BlockPlan(rows, columns, channels, channels, channels * columns.size, pool)


THREE = Axis(9, 3, 1, 1, 1)
"""Windows of three taps, of which padding cuts the first and the last one."""
PADS = st.integers(0, 5)
AXES = st.builds(
    Axis,
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(0, 2),
).filter(lambda axis: axis.outputs >= 1)


@pytest.mark.parametrize(
    ("channels", "whole", "left", "right"),
    [
        (16, Part(0, 48), Part(1, 32, 16), Part(0, 32)),
        (8, Part(0, 24), Part(0, 32, 8, 8), Part(0, 16)),  # the lead is half of the first vector
        (24, Part(0, 72), Part(1, 64, 24, 8), Part(0, 48)),
        (40, Part(0, 120), Part(2, 96, 40, 8), Part(0, 80)),
    ],
)
def test_what_padding_cuts_of_runs(channels: int, whole: Part, left: Part, right: Part) -> None:
    plan = plan_of(channels, THREE)
    assert plan.fits
    assert [plan.part(each) for each in (0, 4, 8)] == [left, whole, right]
    assert plan.borders == [0, 8]


@given(
    st.integers(1, 40) | st.sampled_from((16, 32, 48, 64)),
    AXES | st.builds(Axis, st.integers(1, 12), st.integers(5, 11), st.just(1), PADS, PADS),
    AXES | st.builds(Axis, st.integers(1, 3)),
)
def test_runs_lie_on_the_map_and_have_all_of_its_taps(
    channels: int, columns: Axis, rows: Axis
) -> None:
    """What is read of a row are the taps on the map, and bytes behind them in its row."""
    plan = plan_of(channels, columns, rows)
    if not plan.fits:
        return
    line = columns.size * channels
    for column in range(columns.outputs):
        part, (low, high) = plan.part(column), columns.taps(column)
        first, end = (columns.start(column) + each for each in (low, high))
        assert columns.start(column) * channels + part.skipped == first * channels
        read = first * channels + part.parts * part.bytes - part.lead
        assert end * channels <= read <= line
        assert part.vector + part.vectors <= plan.whole
        assert part.lead == 0 or part.bytes % 16 == 0
        assert part.parts == 1 or part.bytes % 16 == 0


@given(st.integers(1, 40), AXES, st.none() | st.tuples(AXES, AXES))
def test_twins_have_equal_runs_and_are_all_outputs_once(
    channels: int, columns: Axis, pool: tuple[Axis, Axis] | None
) -> None:
    if pool is not None:
        extent = columns.outputs
        down, across = (Axis(extent, min(each.kernel, extent), each.stride) for each in pool)
        pool = down, across
    plan = plan_of(channels, columns, pool=pool)
    outputs = range((plan.columns if pool is None else pool[1]).outputs)
    twins = plan.twins(outputs)
    assert sorted(column for each in twins for column in each) == list(outputs)
    for alike in twins:
        assert 1 <= len(alike) <= 2
        sizes = [[plan.size(each) for each in plan.pixels(column)] for column in alike]
        assert sizes[0] == sizes[-1]


@pytest.mark.parametrize(
    ("channels", "parts"),
    [(192, 1), (208, 1), (256, 2), (272, 1), (400, 5), (512, 4), (520, 1), (640, 4)],
)
def test_long_runs_of_one_row_have_parts(channels: int, parts: int) -> None:
    """Whole vectors, whose number has a divisor in a range, else they are one part."""
    plan = plan_of(channels, Axis(1, 1))
    assert plan.parts == parts
    assert plan.vectors * parts == plan.whole
    assert parts == 1 or plan.vectors in PARTS
    assert plan.fits == (plan.vectors <= LONGEST)


@pytest.mark.parametrize(
    ("channels", "left", "right"),
    [
        (32, Part(6, 128, 96), Part(0, 128)),  # 4 of 7 taps are 8 of 14 vectors: no parts
        (64, Part(12, 128, 192, parts=2), Part(0, 128, parts=2)),
        (72, Part(13, 304, 216, 8), Part(0, 288)),  # no whole number of vectors
    ],
)
def test_padding_cuts_runs_that_have_parts(channels: int, left: Part, right: Part) -> None:
    """What is left of a run has parts of its own."""
    plan = plan_of(channels, Axis(9, 7, 1, 3, 3), Axis(1, 1))
    assert [plan.part(each) for each in (0, 8)] == [left, right]
    assert plan.fits == (channels != 72)  # 18 vectors are too many for one part


def test_taps_that_lie_apart_are_runs() -> None:
    """Sixteen channels of 32 in a pixel, and a dilation of two."""
    axis = Axis(9, 3, 1, 2, 2, 2)
    plan = BlockPlan(axis, axis, 16, 32, 288)
    assert (plan.taps, plan.vectors, plan.across) == (3, 3, 64)
    assert plan.fits
    assert [plan.part(each) for each in (0, 2, 8)] == [
        Part(1, 16, 64, taps=2),
        Part(0, 16, taps=3),
        Part(0, 16, taps=2),
    ]
    assert plan.singles == [(0, 1), (7, 8), (6,)]
    assert plan_of(20, axis).vectors == 6  # two of each tap
    assert plan_of(20, axis).part(0) == Part(2, 20, 40, taps=2)


@pytest.mark.parametrize(
    ("channels", "axis", "tail"),
    [
        (136, Axis(9, 1), 2),
        (201, Axis(9, 1), 3),
        (130, Axis(9, 1), 1),
        (144, Axis(9, 1), 4),  # whole vectors
        (12, Axis(9, 3), 1),
        (12, THREE, 4),  # a window reads a whole vector behind its lead
        (24, Axis(9, 3, 2), 4),  # neighbours share vectors
        (20, Axis(9, 3, 1, 2, 2, 2), 1),  # of each tap
    ],
)
def test_the_last_vectors_of_runs_are_short(channels: int, axis: Axis, tail: int) -> None:
    plan = plan_of(channels, axis)
    assert plan.tail == tail
    assert plan.ends(plan.whole_part)


def test_which_windows_have_the_last_vectors_of_whole_runs() -> None:
    plan = plan_of(20, Axis(9, 3, 1, 0, 1))
    assert [plan.ends(plan.part(each)) for each in (0, 7)] == [True, False]
    assert plan_of(20, Axis(9, 3, 1, 2, 2, 2)).ends(Part(2, 20, 40, taps=2))


def test_what_has_other_kernels() -> None:
    assert plan_of(80, THREE).fits
    assert not plan_of(96, THREE).fits  # too many vectors
    assert plan_of(16, Axis(12, 7, 1, 3, 3)).fits
    assert not plan_of(16, Axis(12, 13, 1, 6, 6)).fits  # six pieces of code for borders
    assert not plan_of(8, Axis(2, 5, 1, 2, 2)).fits  # cut at both sides
    assert plan_of(16, Axis(2, 5, 1, 2, 2)).fits  # whole vectors
    assert not plan_of(16, Axis(3, 3, 1, 4, 0)).fits  # a window on padding only
    assert BlockPlan(Axis(9, 3), Axis(9, 1), 16, 32, 4095).fits
    assert not BlockPlan(Axis(9, 3), Axis(9, 1), 16, 32, 4096).fits
    assert BlockPlan(Axis(1, 1), Axis(9, 3), 16, 4095, 40000).fits
    assert not BlockPlan(Axis(1, 1), Axis(9, 3), 16, 4096, 40000).fits


def test_instructions_of_an_output() -> None:
    """3x3 of 16 channels: a row of a pair is 4 and 12 loads, 24 products, and 3 for the row."""
    plan = plan_of(16, THREE)
    pair, single = 3 * (4 + 12 + 24 + 3) + 24, 3 * (2 + 8 + 8 + 3) + 24
    assert plan.block(Part(0, 48), 2) == pair
    assert plan.block(Part(1, 32), 1) == single
    whole = 3 * (3 + 12 + 12 + 3) + 24
    assert plan.total == (3 * pair + 2 * single + whole) / 36
    apart = BlockPlan(THREE, THREE, 20, 20, 180)
    assert apart.block(Part(0, 60), 2) == 3 * (8 + 16 + 32 + 1 + 3) + 24
    taps = BlockPlan(THREE, THREE, 16, 32, 288)
    assert taps.block(taps.whole_part, 2) == 3 * (6 + 12 + 24 + 3) + 24


def test_straight_code_of_folded_outputs() -> None:
    """1.5 instructions an output, and 300 bytes of code for each block but one, at 4 for a byte."""
    pixels = BlockPlan(Axis(30, 1), Axis(20, 1), 32, 32, 640)
    assert pixels.is_straight(16, 1)
    assert not pixels.is_straight(20, 1)  # too many filters
    few = BlockPlan(Axis(10, 1), Axis(10, 1), 32, 32, 320)
    assert [few.is_straight(16, times) for times in (1, 2)] == [False, True]
    assert few.is_straight(4, 1)  # one block
    assert [few.is_straight(count, 1) for count in (5, 8)] == [False, True]
