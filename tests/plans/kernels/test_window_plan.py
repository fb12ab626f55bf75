"""Which bytes gathered patches have, and what is stored together."""

from __future__ import annotations

import numpy as np
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
    """The patch of an output of a channel [rows, columns], whose zero point is 7."""
    tops, lefts = plan.rows.start(row), plan.columns.start(column)
    rows, columns = Side.of(plan.rows, tops, TAPS), Side.of(plan.columns, lefts, COLUMNS)
    memory, line = channel.ravel(), channel.shape[1]
    first = (tops + rows.first) * line + lefts + columns.first
    even, odd = gathered(rows, columns, 1, line)
    found = np.zeros(16, int)
    found[::2], found[1::2] = memory[first + np.array(even)], memory[first + np.array(odd)]
    high, low = limits(plan.pads(rows, columns, outputs), 7)
    return np.maximum(np.minimum(found, high), low)


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
        for patch in plan.patches(Block(1, columns.outputs)):
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
    assert WindowPlan(one, one).patches(Block(1, 8)) == [range(3), range(3, 6), range(6, 8)]
    plan = WindowPlan(two, two)
    assert plan.height == 2
    assert plan.instructions(2) == (4 * 4 + 8 + 12 + 6) + (2 * 4 + 4 + 6 + 6)
    assert plan.total(1) == 3 * plan.instructions(2) + 14 * (3 + 5)
    assert plan.total(2) == 2 * plan.total(1)
    assert WindowPlan(Axis(3, 3), two).height == 1


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
