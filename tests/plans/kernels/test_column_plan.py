"""Which columns patches have, which weights outputs multiply them by, and what that takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.column_plan import ColumnPlan, Product, Run, pack_columns
from npu_plans.kernels.gathers import BYTES, EIGHT, Side, gathered, limits

ROWS = st.builds(
    Axis,
    st.integers(1, 12),
    st.integers(3, 7),
    st.integers(1, 3),
    st.integers(0, 6),
    st.integers(0, 6),
)
COLUMNS = st.builds(
    Axis,
    st.integers(1, 40),
    st.integers(3, 9),
    st.integers(1, 4),
    st.integers(0, 8),
    st.integers(0, 8),
)
FIVE = Axis(12, 5, 1, 2, 2)


def patch_of(channel: np.ndarray, rows: Side, columns: Side, at: int) -> np.ndarray:
    """The bytes of a patch of a channel [rows, columns], without padding."""
    memory, line = channel.ravel(), channel.shape[1]
    found = np.zeros(BYTES, int)
    found[::2], found[1::2] = (
        memory[at + np.array(steps)] for steps in gathered(rows, columns, 1, line)
    )
    return found


def patch_at(channel: np.ndarray, plan: ColumnPlan, row: int, run: Run, number: int) -> np.ndarray:
    """A patch of a run of outputs of a channel whose zero point is 7."""
    if plan.is_padding(run, number):
        return np.full(BYTES, 7)
    top, left = plan.rows.start(row), plan.columns.start(run.first) + number * plan.width
    rows, columns = Side.of(plan.rows, top, plan.rows.kernel), plan.side(run, number)
    at = (top + rows.first) * channel.shape[1] + left + columns.first
    found = patch_of(channel, rows, columns, at)
    high, low = limits(plan.pads(rows, columns), 7)
    return np.maximum(np.minimum(found, high), low)


@given(ROWS, COLUMNS, st.integers(0, 99))
def test_an_output_is_a_sum_of_products(rows: Axis, columns: Axis, seed: int) -> None:
    if not ColumnPlan.fits(rows, columns):
        return
    random, plan = np.random.default_rng(seed), ColumnPlan(rows, columns)
    channel = random.integers(-128, 128, (rows.size, columns.size))
    weights = random.integers(-128, 128, (3, rows.kernel, columns.kernel)).astype(np.int8)
    packed = pack_columns(weights, plan).reshape(3, -1, BYTES)
    pads = (rows.before, rows.after), (columns.before, columns.after)
    padded = np.pad(channel, pads, constant_values=7)
    runs = [run for run in (*plan.ends, Run(0, columns.outputs)) if run.count]
    for y in range(rows.outputs):
        for run in runs:
            sums = dict[int, int]()
            for each in plan.products(range(run.count)):
                data = patch_at(channel, plan, y, run, each.patch)
                taps = packed[1, plan.vectors.index(each.weights)]
                sums[each.output] = sums.get(each.output, 0) + int(data @ taps)
            assert sorted(sums) == [*range(run.count)]
            for output, found in sums.items():
                top, left = y * rows.stride, (run.first + output) * columns.stride
                window = padded[top : top + rows.kernel, left : left + columns.kernel]
                assert found == (window * weights[1]).sum()


@given(ROWS, COLUMNS)
def test_patches_of_the_loop_lie_on_the_map(rows: Axis, columns: Axis) -> None:
    if not ColumnPlan.fits(rows, columns):
        return
    plan = ColumnPlan(rows, columns)
    front, back = plan.ends
    first, behind = plan.inside
    assert front == Run(0, EIGHT * first)
    assert back.first == EIGHT * behind
    assert back.first + back.count == columns.outputs
    for number in range(first, behind):
        start = columns.start(EIGHT * number)
        assert start >= 0
        assert start + plan.patches(EIGHT) * plan.width <= columns.size


def test_the_last_block_whose_patches_do_not_lie_on_the_map_is_none_of_the_loop() -> None:
    """Its windows have the last 19 columns, but seven patches have 21."""
    plan = ColumnPlan(Axis(5, 5), Axis(51, 5, 2))
    assert (plan.reach(EIGHT), plan.patches(EIGHT)) == (19, 7)
    assert plan.inside == (0, 2)
    assert plan.ends == (Run(0, 0), Run(16, 8))


def test_phases_of_five_columns() -> None:
    """Windows of five columns begin at any of the three columns of a patch."""
    plan = ColumnPlan(FIVE, FIVE)
    assert plan.width == 3
    assert plan.vectors == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    assert [plan.place(output) for output in range(5)] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert plan.taps((2, 0))[8:13] == [None, None, (0, 0), (1, 0), (2, 0)]
    assert plan.taps((2, 2))[:6] == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4), None]
    assert plan.taps((0, 0))[-1] is None


def test_two_columns_of_seven_rows() -> None:
    seven = Axis(12, 7, 1, 3, 3)
    plan = ColumnPlan(seven, seven)
    assert (plan.width, len(plan.vectors)) == (2, 8)
    assert plan.taps((1, 0))[:8] == [None] * 7 + [(0, 0)]
    assert plan.taps((1, 0))[14:] == [None, None]
    two = Axis(24, 7, 2, 3, 3)
    assert ColumnPlan(two, two).vectors == [(0, number) for number in range(4)]


def test_products_with_equal_weights_are_neighbours() -> None:
    """Of four outputs, the first one and the last one have one phase, and share two vectors."""
    products = ColumnPlan(FIVE, FIVE).products([0, 1, 2, 3])
    assert products[:4] == [
        Product(0, 0, (0, 0)),
        Product(3, 1, (0, 0)),
        Product(0, 1, (0, 1)),
        Product(3, 2, (0, 1)),
    ]
    assert len(products) == 9
    assert ColumnPlan(FIVE, FIVE).products([4, 4, 4, 4]) == [
        Product(4, 1, (1, 0)),
        Product(4, 2, (1, 1)),
    ]


def test_what_fits() -> None:
    other = Axis(9, 5)
    assert ColumnPlan.fits(FIVE, FIVE)
    for rows in (3, 4, 6, 7):
        assert ColumnPlan.fits(Axis(9, rows), other)
    for columns in (3, 4, 7, 9):
        assert ColumnPlan.fits(other, Axis(9, columns))
    for axis in (Axis(9, 2), Axis(9, 8), Axis(9, 5, 1, 5), Axis(9, 5, 1, 0, 5), Axis(4, 5)):
        assert not ColumnPlan.fits(axis, other)
    assert not ColumnPlan.fits(Axis(9, 5, 1, 0, 0, 2), other)
    assert not ColumnPlan.fits(other, Axis(9, 5, 1, 0, 0, 2))
    assert not ColumnPlan.fits(other, Axis(9, 2))
    assert not ColumnPlan.fits(Axis(9, 3), Axis(9, 3))
    assert not ColumnPlan.fits(Axis(9, 3), Axis(30, 25))


def test_padding() -> None:
    """Columns -2 to 15 are six patches. Of the last one only the first column counts: padding."""
    plan, run = ColumnPlan(FIVE, FIVE), Run(0, 12)
    assert plan.inside == (0, 0)
    assert plan.ends == (Run(0, 0), run)
    assert plan.patches(12) == 6
    assert [plan.is_padding(run, patch) for patch in range(6)] == [False] * 5 + [True]
    assert plan.side(run, 0).outside == (True, True, False)
    assert plan.side(run, 5).outside == (True, False, False)
    pads = plan.pads(Side.of(FIVE, -1, 5), plan.side(run, 4))
    assert [byte for byte, pad in enumerate(pads) if pad] == [0, 5, *range(10, 15)]
    assert len(pads) == BYTES


def test_instructions() -> None:
    plan = ColumnPlan(FIVE, FIVE)
    assert plan.of_run(Run(0, EIGHT)) == 4 * 4 + 18 + 2 * 7 + 2 * (6 + 2) + 6
    assert plan.of_run(Run(0, 12)) == 6 * 4 + 28 + 3 * 7 + 3 * (6 + 2) + 2 * 6
    row = plan.of_run(Run(0, 12)) + 6 + 2 * 8 + (2 - 4)
    assert plan.of_row == row
    assert plan.total(1) == 16 + 12 * row + 4 * (8 + 3 * 6)
    assert plan.total(2) == 2 * plan.total(1)
    wide = ColumnPlan(Axis(5, 5), Axis(40, 5, 1, 2, 2))
    assert wide.inside == (1, 4)
    ends = sum(wide.of_run(Run(0, EIGHT)) for _ in range(2))
    assert wide.of_row == 6 + 3 * (wide.of_run(Run(0, EIGHT)) + 6) + ends + 8 + 8


def test_flash() -> None:
    """Four rows that padding cuts have code of their own, and all others are a loop."""
    plan = ColumnPlan(FIVE, FIVE)
    assert plan.flash(8) == 4 * 5 * plan.of_run(Run(0, 12)) + 8 * (7 * 16 + 4)
    wide = ColumnPlan(Axis(5, 5), Axis(40, 5, 1, 2, 2))
    assert wide.flash(8) == 4 * 3 * wide.of_run(Run(0, EIGHT)) + 8 * (7 * 16 + 4)


@pytest.mark.parametrize(
    ("rows", "columns", "channels", "beats"),
    [
        (FIVE, FIVE, 32, True),
        (Axis(5, 5), FIVE, 32, True),
        (FIVE, FIVE, 9, True),
        (Axis(3, 5, 1, 2, 2), Axis(3, 5, 1, 2, 2), 32, False),
        (Axis(3, 3), Axis(12, 5, 4, 2, 2), 32, False),
        (Axis(3, 3), Axis(12, 5, 4, 2, 2), 1, True),
    ],
)
def test_what_takes_fewer_instructions_than_eight_channels(
    rows: Axis, columns: Axis, channels: int, beats: bool
) -> None:
    """Small maps are mostly padding, which eight channels leave out. Idle lanes cost as much."""
    assert ColumnPlan(rows, columns).beats_eight(channels, 1) == beats
    assert ColumnPlan(rows, columns).beats_eight(channels, 3) == beats
