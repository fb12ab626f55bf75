"""Which bytes gathered patches have, and what is stored together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.gathers import EIGHT, Block, Side, gathered, limits
from npu_plans.kernels.window_plan import (
    Gather,
    Multiply,
    Patch,
    Piece,
    Product,
    Store,
    WindowPlan,
)
from npu_plans.kernels.window_weights import Form, Weights

POINT = 7
"""The zero point of all maps."""

AXES = st.builds(
    Axis,
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(0, 2),
)
FORMS = st.sampled_from(
    [
        *(Form(3, height, clips) for height in (1, 2) for clips in (False, True)),
        Form(3, 4, clips=True),
        *(Form(4, height, clips=True) for height in (2, 4)),
    ]
)


def plans(rows: Axis, columns: Axis, form: Form) -> list[WindowPlan]:
    """The plan of some windows with a form, if it is one of theirs."""
    fits = WindowPlan.fits(rows, columns) and form.height <= rows.outputs
    tall = form.rows == 3 or rows.stride == 1
    return [WindowPlan(rows, columns, form)] if fits and tall else []


def patch_of(channel: np.ndarray, plan: WindowPlan, row: int, piece: Piece) -> np.ndarray:
    """The patch of a row of outputs of a channel [rows, columns]."""
    top, left = plan.rows.start(row), piece.patch.column
    shift = plan.shift(row)
    rows = Side.of(plan.rows, top + shift, plan.form.rows)
    columns = Side.of(plan.columns, left, plan.form.columns)
    if pushed := plan.pushes(piece.patch):
        columns = Side.behind(plan.columns, plan.form.columns)
    memory, line = channel.ravel(), channel.shape[1]
    first = (top + shift + rows.first) * line + left + columns.first
    even, odd = gathered(rows, columns, 1, line)
    found = np.zeros(16, int)
    found[::2], found[1::2] = memory[first + np.array(even)], memory[first + np.array(odd)]
    if shift:
        words, moved = found.reshape(4, 4), np.full((4, 4), POINT)
        if shift > 0:
            moved[:, shift:] = words[:, :-shift]
        else:
            moved[:, :shift] = words[:, -shift:]
        found = moved.ravel()
    high, low = limits(plan.pads(rows, columns, piece, pushed=pushed), POINT)
    found = np.maximum(np.minimum(found, high), low)
    return np.concatenate(([POINT] * 3, found[:-3])) if pushed else found


@given(AXES, AXES, FORMS, st.integers(0, 99))
def test_an_output_is_one_sum_of_products(rows: Axis, columns: Axis, form: Form, seed: int) -> None:
    """Of the patch and its weights, and of the zero point where these lack columns."""
    random = np.random.default_rng(seed)
    for plan in plans(rows, columns, form):
        channel = random.integers(-128, 128, (rows.size, columns.size))
        weights = random.integers(-128, 128, (3, rows.kernel, columns.kernel)).astype(np.int8)
        table = plan.weights.packed(weights)
        pads = (rows.before, rows.after), (columns.before, columns.after)
        padded = np.pad(channel, pads, constant_values=POINT)
        patches, seen = dict[Piece, np.ndarray](), set[tuple[int, int]]()
        for row, event in plan.all_events():
            if isinstance(event, Gather):
                patches[event.piece] = patch_of(channel, plan, row + event.piece.row, event.piece)
            if not isinstance(event, Multiply):
                continue
            for product in event.products:
                at = plan.weights.pitch + plan.weights.at(product.phase)
                sum_ = patches[product.piece] @ table[at : at + 16]
                first, behind = plan.taps(product.phase[1])
                lacking = np.delete(weights[1].astype(int), range(first, behind), axis=1)
                sum_ += POINT * lacking.sum()
                y, x = row + product.place[0], product.place[1]
                top, left = y * rows.stride, x * columns.stride
                window = padded[top : top + rows.kernel, left : left + columns.kernel]
                assert sum_ == (window * weights[1]).sum()
                seen.add((y, x))
        assert len(seen) == rows.outputs * columns.outputs


@given(AXES, AXES, FORMS)
def test_what_is_computed_is_stored_in_its_order(rows: Axis, columns: Axis, form: Form) -> None:
    for plan in plans(rows, columns, form):
        computed, stored = list[tuple[int, ...]](), list[tuple[int, ...]]()
        for row, event in plan.all_events():
            if isinstance(event, Multiply):
                computed += [(row, *product.place) for product in event.products]
            elif isinstance(event, Store):
                assert 1 <= len(event.places) <= 8
                stored += [(row, *place) for place in event.places]
                assert len(stored) <= len(computed)
        assert stored == computed


@given(AXES, AXES, FORMS)
def test_loops_read_the_map_only(rows: Axis, columns: Axis, form: Form) -> None:
    for plan in plans(rows, columns, form):
        for over in (False, True):
            plan = replace(plan, over=over)
            for number in range(*plan.steps):
                first = number * form.height
                last = min(first + form.height, rows.outputs)
                for row in range(first + (form.lines if plan.ahead else 0), last, form.lines):
                    assert not any(Side.of(rows, rows.start(row), form.rows).outside)
                assert first + form.height <= rows.outputs
        front, step, back = plan.parts
        assert (back[0] - front[1]) % step == 0
        for first in range(front[1], back[0], step):
            for patch in plan.moving(step):
                at = columns.start(first) + patch.column
                assert not any(Side.of(columns, at, form.columns).outside)


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
    assert WindowPlan.pays(wide, wide)
    assert not WindowPlan.pays(axis, axis)
    assert not WindowPlan.pays(wide, Axis(12, 2))


def same(size: int, stride: int = 1) -> Axis:
    """Windows of three with one element of padding at both ends."""
    return Axis(size, 3, stride, 1, 1)


@pytest.mark.parametrize(
    ("rows", "columns", "form"),
    [
        (same(12), same(12), Form(4, 2, clips=True)),
        (same(6), same(6), Form(4, 4, clips=True)),
        (same(5), same(5), Form(3, 4, clips=True)),
        (same(48), same(48), Form(4, 2, clips=True)),
        (Axis(3, 3), same(12), Form(3, 1, clips=False)),
        (same(24, 2), same(24, 2), Form(3, 2, clips=False)),
        (same(48, 2), same(48, 2), Form(3, 1, clips=False)),
        (same(15, 2), same(15, 2), Form(3, 2, clips=True)),
    ],
)
def test_the_form_with_the_fewest_instructions(rows: Axis, columns: Axis, form: Form) -> None:
    assert WindowPlan.best(rows, columns).form == form


def test_outputs_over_their_input_in_steps_are_computed_row_by_row() -> None:
    assert WindowPlan.best(same(24, 2), same(24, 2), over=True).form.height == 1
    assert WindowPlan.best(same(6), same(6), over=True).form == Form(4, 4, clips=True)


def test_clipped_patches_lie_on_the_map() -> None:
    plan = WindowPlan(same(12), same(12), Form(3, 1, clips=True))
    assert plan.patches(0, 12) == [
        Patch(0, (0, 1, 2, 3)),
        Patch(3, (4, 5, 6)),
        Patch(6, (7, 8, 9)),
        Patch(7, (10, 11)),
    ]
    assert plan.phases == [(0, column) for column in range(-1, 4)]
    assert plan.cuts == [(0, 2), (1, 3)]
    narrow = WindowPlan(same(12), Axis(2, 3, 1, 2, 2), Form(3, 1, clips=True))
    assert not any(patch.padded for patch in narrow.patches(0, 4))
    single = WindowPlan(same(12), same(1), Form(3, 1, clips=True))
    assert single.patches(0, 1) == [Patch(-1, (0,), padded=True)]


def test_patches_that_begin_where_windows_do() -> None:
    plan = WindowPlan(same(12), same(12), Form(3, 1, clips=False))
    patches = plan.patches(0, 12)
    assert [patch.column for patch in patches] == [-1, 2, 5, 8]
    assert [patch.padded for patch in patches] == [True, False, False, True]
    assert plan.phases == [(0, 0), (0, 1), (0, 2)]
    steps = WindowPlan(same(12), same(12, 2), Form(3, 1, clips=False))
    assert [patch.outputs for patch in steps.patches(0, 6)] == [(0, 1), (2, 3), (4, 5)]


def test_instructions() -> None:
    """Of patches, products, requantised outputs and stores, and of a loop's step."""
    single = WindowPlan(Axis(3, 3), same(12), Form(3, 1, clips=False))
    assert single.instructions(1) == 3 + 4 * 4 + 12 + 3 * 6 + 2 * 6 + 3 + 9
    assert single.total(1) == 20 + single.instructions(1)
    assert single.total(2) == 2 * single.total(1)
    tall = WindowPlan(same(12), same(12), Form(4, 2, clips=True))
    weights, edges = 6 + 4 + 6, 4
    assert tall.instructions(2) == 3 + 5 * 4 + 24 + weights + edges + 6 * 6 + 3 * (6 + 2)
    assert tall.total(1) == 20 + 6 * tall.instructions(2) + 2 * 5 * 2
    short = WindowPlan(same(12), same(12), Form(3, 2, clips=True))
    assert short.total(1) == 20 + 6 * short.instructions(2) + 2 * 4 * 9
    wide = WindowPlan(same(48), same(48), Form(4, 2, clips=True))
    moving = wide.of_part(2, wide.moving(4), moves=True)
    assert moving == 2 * 4 + 8 + 4 + 2 * 6 + 6
    assert wide.instructions(2) > 10 * (3 + moving)


def test_flash() -> None:
    """Rows that padding cuts have code of their own; all others are a loop."""
    cut = WindowPlan(same(12), same(12), Form(4, 2, clips=True))
    assert cut.flash(8) == 4 * 3 * cut.instructions(2) + 8 * (20 + 3 * 4)
    inside = replace(cut, rows=Axis(12, 3))
    assert inside.flash(8) == 4 * inside.instructions(2) + 8 * (20 + 3 * 4)


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
    plan = WindowPlan(rows, columns, Form(3, 1, clips=False))
    assert plan.pushes(plan.patch(0, columns.outputs)) == pushes


@given(AXES, AXES)
def test_outputs_overwrite_no_pixel_that_is_gathered_later(rows: Axis, columns: Axis) -> None:
    """Pixels of a map and of its output have the same bytes, and both begin at the same one."""
    if not WindowPlan.fits(rows, columns):
        return
    plan = WindowPlan.best(rows, columns, over=True)
    if not plan.can_overwrite(columns.size, columns.outputs):
        return
    overwritten: set[int] = set()
    for row, event in plan.all_events():
        if isinstance(event, Gather):
            number = row + event.piece.row
            start = rows.start(number) + plan.shift(number)
            down = Side.of(rows, start, plan.form.rows)
            across = Side.of(columns, event.piece.patch.column, plan.form.columns)
            first = event.piece.patch.column + across.first
            read = {
                (start + down.first + y) * columns.size + first + x
                for y in down.steps
                for x in across.steps
            }
            assert overwritten.isdisjoint(read)
        elif isinstance(event, Store):
            places = event.distances(1, columns.outputs)
            overwritten.update(row * columns.outputs + place for place in places)


def test_which_outputs_can_overwrite() -> None:
    """Steps of two, and rows of few patches, which are gathered ahead."""
    two, one = same(24, 2), same(24)
    assert WindowPlan.best(two, two, over=True).can_overwrite(24, 12)
    assert not WindowPlan.best(two, two, over=True).can_overwrite(12, 24)
    assert not WindowPlan.best(one, one, over=True).can_overwrite(24, 24)
    assert WindowPlan.best(same(25), same(5), over=True).can_overwrite(5, 5)
    assert WindowPlan.best(same(6), same(6), over=True).can_overwrite(6, 6)
    assert not WindowPlan.best(same(6), same(6), over=True).can_overwrite(6, 20)


def test_patches_of_the_next_rows_are_gathered_ahead() -> None:
    plan = WindowPlan(same(25), same(5), Form(3, 2, clips=True), over=True)
    (patch,) = plan.patches(0, 5)
    pieces = [Piece(row, 1, patch) for row in range(3)]
    found = [event for event in plan.events(2, [patch], 1) if not isinstance(event, Multiply)]
    assert found[:2] == [Gather(pieces[1]), Gather(pieces[2])]
    assert all(isinstance(event, Store) for event in found[2:])
    assert plan.steps == (0, 11)
    alone = [event for event in plan.events(2, [patch]) if isinstance(event, Gather)]
    assert alone == [Gather(pieces[1])]


def test_four_rows_of_one_patch_are_there_together() -> None:
    """Four neighbouring outputs have equal weights then, and equal first values."""
    plan = WindowPlan(same(25), same(5), Form(3, 4, clips=True), over=True)
    (patch,) = plan.patches(0, 5)
    found = [each for each in plan.events(4, [patch], 1) if isinstance(each, Multiply)]
    phases = [product.phase for each in found for product in each.products]
    assert phases == [(0, column) for column in range(-1, 4) for _ in range(4)]
    assert plan.together(3, 1) == plan.together(4, 2) == 2
    tall = WindowPlan(same(25), same(5), Form(4, 4, clips=True))
    assert tall.together(4, 1) == 1


@pytest.mark.parametrize(
    ("form", "columns", "counts"),
    [
        (Form(3, 4, clips=True), 5, [8, 8, 4]),
        (Form(4, 4, clips=True), 6, [8, 4, 4, 8]),
        (Form(3, 2, clips=True), 5, [10]),
    ],
)
def test_of_four_rows_eight_outputs_are_stored_before_others_are_computed(
    form: Form, columns: int, counts: list[int]
) -> None:
    plan = WindowPlan(same(25), same(columns), form)
    found = list(plan.events(form.height, plan.patches(0, columns)))
    assert [len(each.products) for each in found if isinstance(each, Multiply)] == counts
    waiting = 0
    for each in found:
        if isinstance(each, Multiply):
            waiting += len(each.products)
            assert waiting <= EIGHT or form.height == 2
        elif isinstance(each, Store):
            waiting -= len(each.places)
    assert waiting == 0


def test_outputs_with_equal_weights_are_neighbours() -> None:
    plan = WindowPlan(same(25), same(5), Form(3, 2, clips=True))
    (patch,) = plan.patches(0, 5)
    pieces = [Piece(row, 1, patch) for row in range(2)]
    first, second, *_ = plan.products(pieces, moves=False)
    assert first == Product((0, 0), pieces[0], (0, -1))
    assert second == Product((1, 0), pieces[1], (0, -1))


def test_the_distances_of_what_is_stored_together() -> None:
    plan = WindowPlan(same(12), same(12), Form(4, 2, clips=True))
    assert plan.spread(1, 1000) == 1003
    assert plan.spread(100, 1000) == 1300


def test_columns_without_taps_are_no_padding() -> None:
    """The first output has taps on the column that is pushed, and on two of the map."""
    rows, columns = Axis(3, 3), same(2)
    plan = WindowPlan(rows, columns, Form(3, 1, clips=False))
    sides = Side.of(rows, 0, 3), Side.behind(columns, 5)
    one, both = (Piece(0, 1, Patch(-1, each, padded=True)) for each in ((0,), (0, 1)))
    assert not any(plan.pads(*sides, one, pushed=True))
    found = plan.pads(*sides, both, pushed=True)
    assert [byte for byte, pad in enumerate(found) if pad] == [6, 7, 8]


def test_rows_move_to_their_places() -> None:
    """Four rows on the map are gathered for the first rows of outputs and for the last ones."""
    plan = WindowPlan(same(12), same(12), Form(4, 2, clips=True))
    assert [plan.shift(row) for row in (0, 2, 8, 10)] == [1, 0, 0, -1]
    odd = WindowPlan(same(11), same(12), Form(4, 2, clips=True))
    assert odd.shift(10) == -2
    assert WindowPlan(same(3), same(12), Form(4, 2, clips=True)).shift(0) == 0
    assert WindowPlan(same(12), same(12), Form(3, 2, clips=True)).shift(0) == 0


@pytest.mark.parametrize(
    ("form", "phases", "pitch"),
    [
        (Form(3, 1, clips=False), [0, 1, 2], 16),
        (Form(3, 1, clips=True), [-1, 0, 1, 2], 19),
        (Form(3, 1, clips=True), [-1, 0, 1, 2, 3], 31),
        (Form(3, 1, clips=True), [0, 1, 2, 3, 4], 45),
        (Form(4, 2, clips=True), [-1, 0, 1, 2], 20),
    ],
)
def test_bytes_of_weights(form: Form, phases: list[int], pitch: int) -> None:
    """Zeros behind the weights of a channel, or of a phase, are those in front of the next ones."""
    places = tuple((line, phase) for line in range(form.lines) for phase in phases)
    weights = Weights((3, 3), form, places)
    assert weights.pitch == pitch
    taps = np.arange(1, 28, dtype=np.int8).reshape(3, 3, 3)
    table = weights.packed(taps)
    assert len(table) == 2 * pitch + weights.reach
    for number, channel in enumerate(taps):
        for line, phase in places:
            at = number * pitch + weights.at((line, phase))
            wanted = np.zeros((form.columns, form.rows), np.int8)
            for column in range(3):
                if 0 <= phase + column < form.columns:
                    wanted[phase + column, line : line + 3] = channel[:, column]
            found = table[at : at + 16]
            np.testing.assert_array_equal(found[: wanted.size], wanted.ravel())
            assert not found[wanted.size :].any()
