"""Which bytes gathered patches have, and what is stored together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.window_plan import (
    COLUMNS,
    TAPS,
    Block,
    Side,
    WindowPlan,
    gathered,
    limits,
    pack_windows,
    weights_at,
)

AXES = st.builds(
    Axis,
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(0, 2),
)


def patch_of(
    channel: np.ndarray, plan: WindowPlan, row: int, column: int, outputs: int
) -> np.ndarray:
    """The patch of an output of a channel [rows, columns], whose zero point is 7.

    A column of padding in front of the map is pushed into it.
    """
    tops, lefts = plan.rows.start(row), plan.columns.start(column)
    rows, columns = Side.of(plan.rows, tops, TAPS), Side.of(plan.columns, lefts, COLUMNS)
    pushed = plan.pushes and lefts == -1
    if pushed:
        columns = Side.behind(plan.columns, COLUMNS)
    memory, line = channel.ravel(), channel.shape[1]
    first = (tops + rows.first) * line + lefts + columns.first
    even, odd = gathered(rows, columns, 1, line)
    found = np.zeros(16, int)
    found[::2], found[1::2] = memory[first + np.array(even)], memory[first + np.array(odd)]
    high, low = limits(plan.pads(rows, columns, outputs, pushed=pushed), 7)
    found = np.maximum(np.minimum(found, high), low)
    return np.concatenate(([7] * TAPS, found[:-TAPS])) if pushed else found


@given(AXES, AXES, st.integers(0, 99))
def test_an_output_is_one_sum_of_products(rows: Axis, columns: Axis, seed: int) -> None:
    if not WindowPlan.fits(rows, columns):
        return
    random, plan = np.random.default_rng(seed), WindowPlan(rows, columns)
    channel = random.integers(-128, 128, (rows.size, columns.size))
    weights = random.integers(-128, 128, (3, rows.kernel, columns.kernel)).astype(np.int8)
    packed = pack_windows(weights, plan.across, columns.stride)
    pads = (rows.before, rows.after), (columns.before, columns.after)
    padded = np.pad(channel, pads, constant_values=7)
    for y in range(rows.outputs):
        for first in range(0, columns.outputs, plan.across):
            patch = range(first, min(first + plan.across, columns.outputs))
            data = patch_of(channel, plan, y, patch[0], len(patch))
            for number, x in enumerate(patch):
                at = 16 + weights_at(number, plan.across, columns.stride)
                top, left = y * rows.stride, x * columns.stride
                window = padded[top : top + rows.kernel, left : left + columns.kernel]
                assert data @ packed[at : at + 16] == (window * weights[1]).sum()


@given(AXES, st.integers(1, 8), st.booleans())
def test_steps_inside_read_the_map_only(axis: Axis, step: int, across: bool) -> None:
    if not WindowPlan.fits(axis, axis):
        return
    plan = WindowPlan(axis, axis)
    size = COLUMNS if across else TAPS
    for number in range(*plan.inside(step, step, across=across)):
        last = (step - 1) // plan.across * plan.across if across else step - 1
        for position in (number * step, number * step + last):
            assert not any(Side.of(axis, axis.start(position), size).outside)
        assert (number + 1) * step <= axis.outputs


@given(st.sampled_from([(1, n) for n in range(1, 9)] + [(2, n) for n in range(1, 5)]))
def test_all_outputs_of_a_block_are_stored(size: tuple[int, int]) -> None:
    block = Block(*size)
    fours, targets = block.fours, block.targets(1, 100)
    assert 1 <= len(fours) <= 2
    assert {place for four in fours for place in four} == {
        (row, column) for row in range(size[0]) for column in range(size[1])
    }
    assert len(targets) == 8
    for lane, target in enumerate(targets):
        row, column = fours[-1 if lane % 2 else 0][lane // 2]
        assert target == 100 * row + column


def test_what_fits_and_what_pays() -> None:
    axis = Axis(6, 3, 2, 1, 1)
    assert WindowPlan.fits(axis, axis)
    for other in (Axis(9, 4), Axis(9, 3, 1, 3), Axis(9, 3, 1, 0, 0, 2), Axis(2, 3)):
        assert not WindowPlan.fits(axis, other)
        assert not WindowPlan.fits(other, axis)
    wide = Axis(12, 3, 2, 1, 1)
    assert WindowPlan(wide, wide).pays
    assert not WindowPlan(axis, axis).pays
    assert not WindowPlan(wide, Axis(12, 2)).pays


def test_patches_and_instructions() -> None:
    one, two = Axis(12, 3, 1, 1, 1), Axis(12, 3, 2, 1, 1)
    assert [WindowPlan(one, Axis(12, 3, step)).across for step in (1, 2, 3)] == [3, 2, 1]
    assert WindowPlan(one, one).patches(8) == 4
    assert WindowPlan(Axis(27, 3, 1, 1, 1), one).patches(8) == 4
    assert WindowPlan(one, Axis(27, 3, 1, 1, 1)).patches(8) == 3 + 3 + 4
    plan = WindowPlan(two, two)
    assert plan.pushes
    assert plan.height == 2
    assert plan.instructions(2) == 2 * (4 * 3 + 6) + (12 + 6) + (6 + 6)
    assert plan.total(1) == 3 * plan.instructions(2) + 14 * 3 + 8 * 5
    far = WindowPlan(two, Axis(12, 3, 2, 2, 1))
    assert far.total(1) == 3 * far.instructions(2) + 14 * (4 + 5 * 2)
    assert plan.total(2) == 2 * plan.total(1)
    assert WindowPlan(Axis(3, 3), two).height == 1


@pytest.mark.parametrize(
    ("rows", "columns", "pushes"),
    [
        (Axis(3, 3, 2), Axis(48, 3, 2, 1), False),
        (Axis(5, 3, 2), Axis(48, 3, 2, 1), True),
        (Axis(3, 3), Axis(48, 3, 1, 1), True),
        (Axis(3, 3, 2), Axis(24, 3, 2, 1), True),
        (Axis(5, 3, 2), Axis(48, 3, 2, 2), False),
        (Axis(5, 3, 2), Axis(48, 3, 2), False),
    ],
)
def test_where_a_column_of_padding_is_pushed(rows: Axis, columns: Axis, pushes: bool) -> None:
    """Only one column, and not in a single row of many outputs in steps."""
    assert WindowPlan(rows, columns).pushes == pushes


@given(AXES, AXES)
def test_outputs_overwrite_no_pixel_that_is_gathered_later(rows: Axis, columns: Axis) -> None:
    """Pixels of a map and of its output have the same bytes, and both begin at the same one."""
    if not WindowPlan.fits(rows, columns):
        return
    plan = WindowPlan(rows, columns, single=True)
    assert plan.height == 1
    if not plan.can_overwrite(columns.size, columns.outputs):
        return
    overwritten: set[int] = set()
    for y in range(rows.outputs):
        for first in range(0, columns.outputs, plan.width(1)):
            block = range(first, min(first + plan.width(1), columns.outputs))
            for x in block:
                (top, bottom), (left, right) = rows.taps(y), columns.taps(x)
                read = {
                    (rows.start(y) + down) * columns.size + columns.start(x) + across
                    for down in range(top, bottom)
                    for across in range(left, right)
                }
                assert overwritten.isdisjoint(read)
            overwritten.update(y * columns.outputs + x for x in block)


def test_steps_of_two_can_overwrite_and_steps_of_one_cannot() -> None:
    two, one = Axis(24, 3, 2, 1, 1), Axis(24, 3, 1, 1, 1)
    assert WindowPlan(two, two, single=True).can_overwrite(24, 12)
    assert not WindowPlan(one, one, single=True).can_overwrite(24, 24)
    assert not WindowPlan(two, two, single=True).can_overwrite(12, 24)


def test_flash() -> None:
    """Rows that padding cuts have code of their own; all others are a loop."""
    inside, cut = Axis(12, 3), Axis(12, 3, 1, 1, 1)
    plan = WindowPlan(cut, cut)
    assert plan.height == 1
    assert plan.flash(8) == 4 * 3 * plan.instructions(1) + 8 * 20
    plan = WindowPlan(inside, cut)
    assert plan.flash(8) == 4 * plan.instructions(plan.height) + 8 * 20


def test_columns_without_taps_are_no_padding() -> None:
    """The first output has taps on the column that is pushed, and on two of the map."""
    rows, columns = Axis(3, 3), Axis(2, 3, 1, 1, 1)
    plan, sides = WindowPlan(rows, columns), (Side.of(rows, 0, TAPS), Side.behind(columns, COLUMNS))
    assert not any(plan.pads(*sides, 1, pushed=True))
    assert [byte for byte, pad in enumerate(plan.pads(*sides, 2, pushed=True)) if pad] == [6, 7, 8]
